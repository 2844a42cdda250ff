/** Servers that fail: one with the answers of a test, and a gate before the real one that closes or never answers. */
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** One answer; a body without its end breaks the connection, and no status closes it without an answer. */
export interface Answer {
  status?: number;
  body?: string | object;
  headers?: Record<string, string>;
  isCut?: boolean;
  /** Neither end the body nor close the connection. */
  staysOpen?: boolean;
  /** Never answer. */
  isSilent?: boolean;
}

export interface Received {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface Scripted {
  url: string;
  requests: Received[];
  /** Connections of answers that stay open, which the client has closed. */
  closed: number;
}

/** A server that gives the next of these answers to each request. */
export async function scripted<T>(answers: Answer[], work: (server: Scripted) => Promise<T>): Promise<T> {
  const requests: Received[] = [];
  const found: Scripted = { url: "", requests, closed: 0 };
  const left = [...answers];
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const part of request) {
      body += String(part);
    }
    requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers, body });
    const answer = left.shift() ?? { status: 500, body: "no more answers" };
    if (answer.isSilent) {
      return;
    }
    if (answer.staysOpen) {
      request.socket.once("close", () => (found.closed += 1));
      response.writeHead(answer.status ?? 200, answer.headers).write(String(answer.body));
      return;
    }
    if (answer.status === undefined) {
      request.socket.destroy();
      return;
    }
    const text = typeof answer.body === "object" ? JSON.stringify(answer.body) : (answer.body ?? "");
    const length = Buffer.byteLength(text) + (answer.isCut ? 1 : 0);
    response.writeHead(answer.status, { "Content-Length": length, Connection: "close", ...answer.headers });
    response.write(text, () => (answer.isCut ? request.socket.destroy() : response.end()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    found.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await work(found);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** The body of an error. */
export function failure(code: string, fields: object = {}): object {
  return { error: { code, message: "m", retryable: false, request_id: "r", ...fields } };
}

/** A port before a server: open, closed as if the server was killed, or silent as if it was frozen. */
export class Gate {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #isSilent = false;
  port = 0;
  /** Connections so far. */
  connections = 0;

  constructor(target: string) {
    this.#target = new URL(target);
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Pass everything on, at the same port as before. */
  async open(): Promise<this> {
    this.#isSilent = false;
    if (!this.#server) {
      this.#server = createServer((socket) => this.#accept(socket)).listen(this.port, "127.0.0.1");
      await once(this.#server, "listening");
      this.port = (this.#server.address() as AddressInfo).port;
    }
    return this;
  }

  /** Accept connections and never answer. */
  async silence(): Promise<void> {
    await this.open();
    this.#isSilent = true;
    this.#reset();
  }

  /** Break all connections, and accept none. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    this.#reset();
    if (server) {
      server.close();
      await once(server, "close");
    }
  }

  #accept(socket: Socket): void {
    this.connections += 1;
    this.#add(socket);
    if (this.#isSilent) {
      socket.resume();
      return;
    }
    const onward = connect(Number(this.#target.port), this.#target.hostname);
    this.#add(onward);
    socket.pipe(onward).pipe(socket);
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroy());
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => this.#sockets.delete(socket));
  }

  #reset(): void {
    for (const socket of this.#sockets) {
      socket.resetAndDestroy();
    }
  }
}
