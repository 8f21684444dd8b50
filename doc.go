// Package queue runs tasks.
package queue
