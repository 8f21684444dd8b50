"use strict";

importScripts("wasm_exec.js", "program.js");
serve(self);
