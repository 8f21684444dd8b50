//go:build !js

package host

import "runtime"

// Single reports whether the host shares the program's only thread.
const Single = false

// A Host gives turns. The zero value is ready for use.
type Host struct{}

// Turn gives the host a turn, then calls then.
func (*Host) Turn(then func()) {
	runtime.Gosched()
	then()
}
