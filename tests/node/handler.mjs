// A handler of jobs in Node.js, with nothing but node:http. It is asked by `ledgertop work --http`
// and answers the first attempt of each job with 429, as a provider at its limit would.
import { createServer } from "node:http";

const applied = new Map(); // effects by key: the second request for a key finds the first one's

const server = createServer(async (request, response) => {
  const key = decodeURIComponent(request.headers["idempotency-key"]);
  const attempt = Number(request.headers["ledgertop-attempt"]);
  let body = "";
  for await (const chunk of request) body += chunk;
  let payload;
  try {
    payload = JSON.parse(body);
  } catch (error) {
    response.writeHead(400).end(`not JSON: ${error.message}`);
    return;
  }
  if (attempt === 1) {
    response.writeHead(429, { "Retry-After": "1" }).end("one request a second, please");
    return;
  }
  if (!applied.has(key)) applied.set(key, `s3://thumbnails/${payload.image}.webp`);
  response.writeHead(200, { "Content-Type": "application/json" });
  response.end(JSON.stringify({ output_ref: applied.get(key) }));
});

server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
  console.log(`listening on ${server.address().port}`);
});
