"use strict";

// serve runs the program, in a page or in a worker, for whoever is at the other
// end of a port. It returns when the program is ready.
async function serve(port) {
	const go = new Go();
	const {instance} = await WebAssembly.instantiateStreaming(fetch("app.wasm"), go.importObject);
	go.run(instance); // comes back as soon as main waits

	let tiles = []; // drawn and not yet posted
	const report = (message) => {
		port.postMessage({...message, tiles, stats: fractal.stats()}, tiles.map(({pixels}) => pixels.buffer));
		tiles = [];
	};
	port.onmessage = ({data}) => {
		switch (data.do) {
		case "start":
			tiles = [];
			fractal.start(
				data.interval,
				(x, y, pixels) => tiles.push({x, y, pixels}),
				() => report({is: "end", start: data.start}),
			);
			break;
		case "ping":
			report({...data, is: "answer", answered: now()});
			break;
		default:
			fractal[data.do]();
		}
	};
	const {width, height, side} = fractal;
	port.postMessage({is: "ready", width, height, side});
}

// now is a time in milliseconds that a page and its workers agree on.
function now() {
	return performance.timeOrigin + performance.now();
}
