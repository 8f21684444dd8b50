"use strict";

const $ = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
const picture = $("picture").getContext("2d");

// A program that is ready, by where it runs: the port to it and the size of a
// tile.
const programs = {};

function load(where) {
	return programs[where] ??= new Promise((resolve, reject) => {
		let port;
		if (where === "worker") {
			port = new Worker("worker.js");
			port.onerror = reject;
		} else {
			const channel = new MessageChannel();
			port = channel.port1;
			serve(channel.port2).catch(reject);
		}
		port.onmessage = ({data}) => {
			port.onmessage = ({data}) => receive(port, data);
			resolve({port, ...data});
		};
	});
}

let program; // the one that draws or has drawn last
let run; // what is known of its drawing

function receive(port, message) {
	if (port !== program.port || message.start !== run.start) {
		return; // from a run before
	}
	if (message.is === "answer") {
		run.answered(message);
	} else {
		run.end = now();
		run.state = "finished";
	}
	run.update(message);
}

class Run {
	start = now();
	end = 0; // 0 while it runs
	state = "running";
	tiles = []; // drawn, not yet shown
	gaps = []; // between frames, not yet shown
	stats = {done: 0, waiting: 0, running: 0, turns: 0};
	asked = 0; // messages
	delays = []; // of answers to them
	wait = 0; // longest of the delays
	gap = 0; // longest time between two frames

	answered({sent, answered}) {
		this.delays.push(answered - sent);
		this.wait = Math.max(this.wait, answered - sent);
	}

	// p95 is what 95 % of the messages waited at most.
	p95() {
		return this.delays.toSorted((a, b) => a - b)[Math.floor(this.delays.length * 0.95)] ?? 0;
	}

	update({stats, tiles}) {
		this.stats = stats;
		this.tiles.push(...tiles);
		if (this.end === 0) {
			this.state = stats.killed ? "killed" : stats.paused ? "paused" : "running";
			this.end = stats.killed ? now() : 0;
		}
		if (this.state !== this.shown || this.end) { // late answers count, too
			this.shown = this.state;
			show();
		}
	}
}

// show shows what is known of the run. It costs more than to move the dot, so it
// is not done for each frame.
function show() {
	const {state, stats, start, end} = run;
	for (const {x, y, pixels} of run.tiles.splice(0)) {
		picture.putImageData(new ImageData(pixels, program.side), x, y);
	}
	drawBars(run.gaps.splice(0));
	for (const key of ["done", "waiting", "running", "turns"]) {
		$(key).textContent = stats[key];
	}
	$("progress").max = stats.done + stats.waiting + stats.running;
	$("progress").value = stats.done;
	$("time").textContent = (((end || now()) - start) / 1000).toFixed(1);
	for (const key of ["gap", "wait"]) {
		$(key).textContent = run[key].toFixed(0);
		$(key).parentElement.classList.toggle("bad", run[key] > 100);
	}
	if ($("state").textContent !== state) { // it is read out when it is set
		$("state").textContent = state;
	}
	$("pause").disabled = state !== "running";
	$("resume").disabled = state !== "paused";
	$("start").disabled = state === "running" || state === "paused";
	$("kill").disabled = !$("start").disabled;
}

$("controls").onsubmit = async (event) => {
	event.preventDefault();
	$("start").disabled = true;
	program = await load(chosen("where")).catch(complain);
	picture.clearRect(0, 0, program.width, program.height);
	run = new Run();
	lastFrame = performance.now();
	show();
	program.port.postMessage({do: "start", start: run.start, interval: Number(chosen("interval"))});
	ping();
};

for (const verb of ["pause", "resume", "kill"]) {
	$(verb).onclick = () => {
		program.port.postMessage({do: verb});
		ping();
	};
}

function ping() {
	run.asked++;
	program.port.postMessage({do: "ping", start: run.start, sent: now()});
}

setInterval(() => {
	if (run?.end === 0) {
		ping();
	}
}, 25);

// The animation shows when the page gets to draw. It moves by script, since the
// browser goes on with those of style sheets while the page hangs.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const strip = $("strip").getContext("2d");
const bar = 3; // pixels
const way = $("dot").parentElement;
let colors, length; // of the bars; of the dot's way
let frames = 0;
let lastFrame = performance.now();
let lastShow = lastFrame;
let ended = true; // the first frame after the end has been seen

dark.onchange = () => {
	const style = getComputedStyle(document.documentElement);
	colors = ["--accent", "--bad"].map((name) => style.getPropertyValue(name));
};
dark.onchange();
new ResizeObserver(() => length = way.clientWidth - 20).observe(way);

function frame() {
	const time = performance.now();
	const gap = time - lastFrame;
	lastFrame = time;
	const odd = frames++ % 2; // to move the dot takes most of what a frame costs
	if (odd && !still.matches) {
		$("dot").style.transform = `translateX(${length * (0.5 - 0.5 * Math.cos(time / 500))}px)`;
	}
	if (run && !(run.end && ended)) {
		ended = run.end !== 0; // this frame is late by what kept the page busy before
		run.gap = Math.max(run.gap, gap);
		run.gaps.push(gap);
		if (ended || time - lastShow > 200) {
			lastShow = time;
			show();
		}
	}
	requestAnimationFrame(frame);
}

function drawBars(gaps) {
	const {width, height} = strip.canvas;
	let x = width - gaps.length * bar;
	strip.globalCompositeOperation = "copy";
	strip.drawImage(strip.canvas, x - width, 0);
	strip.globalCompositeOperation = "source-over";
	for (const gap of gaps) {
		const tall = Math.min(gap / 100, 1) * height;
		strip.fillStyle = colors[Number(gap > 100)];
		strip.fillRect(x, height - tall, bar - 1, tall);
		x += bar;
	}
}

function complain(error) {
	$("state").textContent = `cannot run the program: ${error.message}`;
	throw error;
}

load("page").then(() => {
	$("state").textContent = "ready";
	$("start").disabled = false;
	requestAnimationFrame(frame);
}).catch(complain);
