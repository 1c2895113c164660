// A plugin in Node without packages: one event loop, calls side by side, large texts through the arena.
"use strict";

const { createHash } = require("crypto");
const fs = require("fs");

const PROTOCOL = 1;
const LIMIT = 1000000;
const INLINE = 65536;
const REFUSED = -32000, NO_METHOD = -32601, BROKEN = -32603, UNREADABLE = -32700, TOO_LARGE = -32003;

let arena = null; // the descriptor
let asked = 0;
const waiting = new Map(); // what the plugin asked, by id
const running = new Map(); // calls that can be stopped, by name

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// A tool that cannot do what it was asked; the model reads why.
class Failure extends Error {
  constructor(reason, message, hint = "") {
    super(message);
    this.error = { reason, detail: message, hint };
  }
}

function send(frame) {
  const line = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...frame }) + "\n");
  if (line.length > LIMIT) throw new Refused(TOO_LARGE, `a frame of ${line.length} bytes is too large`);
  process.stdout.write(line);
}

const notify = (method, params) => send({ method, params });

function request(method, params) {
  const id = ++asked;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

function settle(frame) {
  const one = waiting.get(frame.id);
  if (one === undefined) return;
  waiting.delete(frame.id);
  if (frame.error) one.reject(new Refused(frame.error.code, frame.error.message));
  else one.resolve(frame.result);
}

function read(params, name) {
  const at = params[`${name}_at`];
  if (at === undefined) return params[name] || {};
  const bytes = Buffer.alloc(at.size);
  for (let done = 0; done < at.size; ) {
    done += fs.readSync(arena, bytes, done, at.size - done, at.offset + done);
  }
  return JSON.parse(bytes.toString());
}

// The field `name` of an answer: the value itself, or the range of the arena that it was written to.
async function filled(name, value) {
  const bytes = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  if (arena === null || bytes.length <= INLINE) return { [name]: value };
  const range = await request("arena.lease", { size: bytes.length });
  for (let done = 0; done < bytes.length; ) {
    done += fs.writeSync(arena, bytes, done, bytes.length - done, range.offset + done);
  }
  return { [`${name}_at`]: { ...range, size: bytes.length } };
}

const tools = {
  digest_sha256: (call, { text }) => createHash("sha256").update(text).digest("hex"),

  digest_repeat: (call, { text, times = 2 }) => {
    if (text.length * times > 100000000) throw new Failure("refused", "that is too much", "repeat it less");
    return text.repeat(times);
  },

  digest_wait: async (call, { seconds }) => {
    for (let waited = 0; waited < seconds && !call.stopped; waited++) {
      notify("tool.progress", { call: call.name, text: `${waited} of ${seconds} s`, fraction: waited / seconds });
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, 1000);
        call.stop = () => {
          call.stopped = true;
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (call.stopped) throw new Failure("failed", "the call was stopped");
    return `waited ${seconds} s`;
  },
};

const stages = {
  mask_cards: ({ text }) => {
    const masked = text.replace(/\b\d(?:[ -]?\d){11}[ -]?(\d{4})\b/g, "**** $1");
    return masked === text ? null : { text: masked };
  },
};

async function toolCall(params) {
  const tool = tools[params.tool];
  if (tool === undefined) throw new Refused(NO_METHOD, `there is no tool ${params.tool}`);
  const call = { name: params.call, stopped: false, stop: () => (call.stopped = true) };
  running.set(call.name, call);
  try {
    const text = await tool(call, read(params, "arguments"));
    return await filled("text", text);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { text: "", error: error.error, stopped: call.stopped };
  } finally {
    running.delete(call.name);
  }
}

const methods = {
  initialize: (params) => {
    if (params.protocol !== PROTOCOL) throw new Refused(REFUSED, `this plugin speaks protocol ${PROTOCOL}`);
    arena = params.arena ? params.arena.descriptor : null;
    return { protocol: PROTOCOL, arena: arena === null ? "none" : "rw" };
  },
  start: () => ({}),
  ping: () => ({}),
  stop: () => {
    for (const call of running.values()) call.stop();
    return {};
  },
  "tool.call": toolCall,
  "stage.run": async (params) => {
    const handler = stages[params.handler];
    if (handler === undefined) throw new Refused(NO_METHOD, `there is no handler ${params.handler}`);
    const changed = handler(read(params, "payload"));
    return changed ? { action: "rewrite", ...(await filled("payload", changed)) } : { action: "pass" };
  },
};

async function answer({ id, method, params = {} }) {
  try {
    if (!Object.hasOwn(methods, method)) throw new Refused(NO_METHOD, `there is no method ${method}`);
    send({ id, result: await methods[method](params) });
    if (method === "start") notify("ready", { facilities: [] });
  } catch (error) {
    send({ id, error: { code: error.code < 0 ? error.code : BROKEN, message: String(error.message) } });
  }
}

function take(line) {
  let frame;
  try {
    frame = JSON.parse(line.toString());
  } catch {
    frame = null;
  }
  if (frame === null || frame.jsonrpc !== "2.0") {
    send({ id: null, error: { code: UNREADABLE, message: "this is no frame" } });
  } else if (frame.method === undefined) {
    settle(frame);
  } else if (frame.id !== undefined) {
    answer(frame);
  } else if (frame.method === "tool.cancel" && running.has(frame.params.call)) {
    running.get(frame.params.call).stop();
  }
}

console.log = console.error; // standard output is for frames
let pieces = [];
process.stdin.on("data", (data) => {
  for (let end; (end = data.indexOf(10)) >= 0; data = data.subarray(end + 1)) {
    take(Buffer.concat([...pieces, data.subarray(0, end)]));
    pieces = [];
  }
  if (data.length > 0) pieces.push(data);
});
process.stdin.on("end", () => process.exit(0));
