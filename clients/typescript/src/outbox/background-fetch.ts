/** A fetch whose connections let the process end. The runtime's keeps it alive until the answer comes. */
import * as http from "node:http";
import * as https from "node:https";

const PROTOCOLS = {
  "http:": { request: http.request, agent: new http.Agent({ keepAlive: true, maxSockets: 4 }) },
  "https:": { request: https.request, agent: new https.Agent({ keepAlive: true, maxSockets: 4 }) },
};
const EMPTY = new Set([204, 205, 304]);

/** What openapi-fetch needs of a fetch: no redirects, and the whole answer at once. */
export async function backgroundFetch(request: Request): Promise<Response> {
  const body = new Uint8Array(await request.arrayBuffer());
  const { request: open, agent } = PROTOCOLS[new URL(request.url).protocol as keyof typeof PROTOCOLS];
  return new Promise((resolve, reject) => {
    const headers = { ...Object.fromEntries(request.headers), "content-length": String(body.length) };
    const sent = open(request.url, { method: request.method, headers, agent, signal: request.signal }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => resolve(responseOf(answer, Buffer.concat(parts))));
    });
    sent.on("socket", (socket) => socket.unref());
    sent.on("error", reject);
    sent.end(body);
  });
}

function responseOf(answer: http.IncomingMessage, body: Buffer): Response {
  const status = answer.statusCode ?? 0;
  const headers = new Headers();
  for (let at = 0; at + 1 < answer.rawHeaders.length; at += 2) {
    headers.append(answer.rawHeaders[at] ?? "", answer.rawHeaders[at + 1] ?? "");
  }
  return new Response(EMPTY.has(status) ? null : new Uint8Array(body), { status, headers });
}
