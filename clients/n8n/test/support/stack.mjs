// A real memorybase, started with the server's Python, and servers that behave as a broken one does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const START_MS = 180_000;
export const KEY = 'mb_test_key_of_the_n8n_nodes';

export class Stack {
  static async start() {
    const stack = new Stack();
    stack.directory = mkdtempSync(path.join(tmpdir(), 'memorybase-n8n-'));
    stack.port = await freePort();
    stack.url = `http://127.0.0.1:${stack.port}`;
    // A test process that is interrupted leaves no stack behind.
    process.on('exit', () => stack.process.kill('SIGTERM'));
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    await stack.up();
    return stack;
  }

  async up() {
    const python = process.env.MEMORYBASE_PYTHON ?? path.join(ROOT, '.venv/bin/python');
    const log = openSync(path.join(this.directory, 'stack.log'), 'a');
    const command = ['-m', 'memorybase', 'up', '--port', String(this.port), '--data-dir', path.join(this.directory, 'data')];
    this.process = spawn(path.resolve(python), command, { cwd: ROOT, stdio: ['ignore', log, log], env: environment() });
    await until(async () => {
      if (this.process.exitCode !== null) throw new Error(`the stack ended:\n${this.log().slice(-3000)}`);
      return (await this.isReady()) || null;
    }, START_MS, 'the stack is ready');
  }

  log() {
    return readFileSync(path.join(this.directory, 'stack.log'), 'utf8');
  }

  async isReady() {
    try {
      return (await fetch(`${this.url}/health/ready`)).ok;
    } catch {
      return false;
    }
  }

  /** Kill the API; the stack starts it again. */
  killApi() {
    process.kill(Number(readFileSync(path.join(this.directory, 'data/run/api.pid'), 'utf8')), 'SIGKILL');
  }

  async call(method, route, body) {
    const answer = await fetch(`${this.url}/v1${route}`, {
      method,
      headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const said = await answer.json();
    if (answer.status === 404 && method === 'GET') return { items: [] };
    if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${JSON.stringify(said)}`);
    return said;
  }

  /** The stored messages of a session, in order. */
  async messages(flow, session) {
    const items = [];
    let cursor = '';
    do {
      const route = `/messages?flow_id=${flow}&session_id=${session}&order=asc&size=200${cursor && `&cursor=${cursor}`}`;
      const page = await this.call('GET', route);
      items.push(...page.items);
      cursor = page.next_cursor ?? '';
    } while (cursor !== '');
    return items;
  }

  async stop() {
    const ended = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await ended;
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function environment() {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('MEMORYBASE_'));
  return {
    ...Object.fromEntries(kept),
    PYTHONPATH: ROOT,
    MEMORYBASE_API_KEY: KEY,
    // Where the server's own tests export the embedding model, once.
    MEMORYBASE_MODEL_DIR: path.join(tmpdir(), `memorybase-test-models-${userInfo().uid}`),
  };
}

/** Wait until `condition` returns something else than null or false, and return that. */
export async function until(condition, milliseconds, what) {
  const end = Date.now() + milliseconds;
  for (;;) {
    const found = await condition();
    if (found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`not within ${milliseconds} ms: ${what}`);
    await sleep(50);
  }
}

/** A free port below the range of outgoing connections: none of them takes it while the API is down. */
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = net.createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** A server that accepts and never answers. */
export async function silent() {
  const sockets = new Set();
  const server = net.createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  return await listening(server, () => sockets.forEach((socket) => socket.destroy()));
}

/** A server that passes all on to memorybase, except what `answer` answers: {status, body, headers}, or 'never'. */
export async function between(url, answer) {
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const own = answer(`${request.method} ${request.url}`);
    if (own === 'never') return;
    if (own) {
      response.writeHead(own.status, { 'Content-Type': 'application/json', ...own.headers }).end(own.body ?? '');
      return;
    }
    const passed = await fetch(url + request.url, {
      method: request.method,
      headers: { Authorization: request.headers.authorization, 'Content-Type': 'application/json' },
      body: chunks.length > 0 ? Buffer.concat(chunks) : undefined,
    });
    response.writeHead(passed.status, { 'Content-Type': 'application/json' }).end(await passed.text());
  });
  return await listening(server, () => server.closeAllConnections());
}

async function listening(server, drop) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    drop();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, close };
}
