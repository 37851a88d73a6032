// Opens /live in headless Chromium, cuts its network, kills the server with SIGKILL, and compares what the page shows
// with the list. Prints the counts of the events; ends with 1 if the page missed or repeated a change.
//
//   node --experimental-websocket live-test.mjs BIKESERVER CHROMIUM DIRECTORY

import { spawn } from "node:child_process";
import { createServer } from "node:net";

const [bikeServer, chromium, directory] = process.argv.slice(2);
const processes = [];
process.on("exit", () => processes.forEach((process) => process.kill("SIGKILL")));
const sleep = (milliseconds) => new Promise((resume) => setTimeout(resume, milliseconds));

async function until(what, condition) {
  for (const end = Date.now() + 600_000; Date.now() < end; await sleep(50)) {
    if (await condition().catch(() => false)) return;
  }
  throw new Error(`${what} did not happen within ten minutes`);
}

// A free port below those that the kernel gives to servers on port 0 and to clients: it stays free while the server is
// dead.
async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    const isFree = await new Promise((resume) => {
      const server = createServer().once("error", () => resume(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resume(true)));
    });
    if (isFree) return port;
  }
}

// MARK: The server

async function serve(port) {
  const server = spawn(bikeServer, [
    "--database", `${directory}/bikes.sqlite`, "--port", `${port}`, "--deadline", "600",
  ], { stdio: "ignore" });
  processes.push(server);
  await until("an answer", async () => (await fetch(`http://127.0.0.1:${port}/hello`)).ok);
  return server;
}

async function kill(server) {
  const end = new Promise((resume) => server.once("exit", resume));
  server.kill("SIGKILL");
  await end;
}

const made = { insert: 0, update: 0, delete: 0 };

async function change(port, method, path, bicycle) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method, body: bicycle && JSON.stringify({ color: "red", price: 1, ...bicycle }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
  made[{ POST: "insert", PUT: "update", DELETE: "delete" }[method]] += 1;
}

async function changeSome(port, round) {
  for (let number = 0; number < 20; number += 1) {
    await change(port, "POST", "/bicycles", { name: `${round} ${number}` });
  }
  const [first, second] = await (await fetch(`http://127.0.0.1:${port}/bicycles`)).json();
  await change(port, "PUT", `/bicycles/${first.id}`, { name: first.name, price: round + 2 });
  await change(port, "DELETE", `/bicycles/${second.id}`);
}

// MARK: The browser

async function browse(url) {
  const browser = spawn(chromium, [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", `--user-data-dir=${directory}/profile`,
    "about:blank",
  ], { stdio: ["ignore", "ignore", "pipe"] });
  processes.push(browser);
  let output = "";
  browser.stderr.on("data", (data) => { output += data; });
  const address = () => output.match(/DevTools listening on (ws:\S+)/)?.[1];
  await until("the browser's start", async () => address() !== undefined);
  const socket = new WebSocket(address());
  await new Promise((resume, refuse) => Object.assign(socket, { onopen: resume, onerror: refuse }));
  const waiting = new Map();
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  };
  let last = 0;
  const send = (method, params = {}, sessionId) =>
    new Promise((resume, refuse) => {
      last += 1;
      waiting.set(last, ({ result, error }) => (error ? refuse(new Error(error.message)) : resume(result)));
      socket.send(JSON.stringify({ id: last, method, params, sessionId }));
    });
  const { targetId } = await send("Target.createTarget", { url });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  await send("Network.enable", {}, sessionId);
  const evaluate = async (expression) =>
    (await send("Runtime.evaluate", { expression, returnByValue: true }, sessionId)).result.value;
  return {
    rows: () => evaluate(`[...document.querySelectorAll("#bicycles tr")].map((row) =>
      [...row.cells].map((cell) => cell.textContent).join(" ")).join("\\n")`),
    counts: async () => JSON.parse(await evaluate(`document.getElementById("state").textContent`)),
    setOffline: (offline) =>
      send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 }, sessionId),
  };
}

async function list(port) {
  const bicycles = await (await fetch(`http://127.0.0.1:${port}/bicycles?limit=100`)).json();
  return bicycles.map(({ id, name, color, price }) => `${id} ${name} ${color} ${price}`).join("\n");
}

const port = await freePort();
let server = await serve(port);
await changeSome(port, 0);
const page = await browse(`http://127.0.0.1:${port}/live`);
const isSame = async () => (await page.rows()) === (await list(port));
await until("the first list", isSame);
const before = { ...made };

await changeSome(port, 1);
await until("the changes", isSame);

await page.setOffline(true);
await changeSome(port, 2);
await page.setOffline(false);
await until("the changes after the cut", isSame);

await kill(server);
// Another process changes the bicycles while the page finds no server.
const other = await freePort();
const meanwhile = await serve(other);
await changeSome(other, 3);
await kill(meanwhile);
server = await serve(port);
await until("the changes after the restart", isSame);

const counts = await page.counts();
console.log(JSON.stringify(counts));
const expected = { reset: 1 };
for (const kind of Object.keys(made)) expected[kind] = made[kind] - before[kind];
if (JSON.stringify(counts) !== JSON.stringify(expected)) {
  console.error(`expected ${JSON.stringify(expected)}`);
  process.exit(1);
}
process.exit(0);
