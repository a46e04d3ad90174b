import { limits } from '../limits.ts';

/** `fetch`, with the body of the reply. @throws an error that says so if the body is large, or as `fetch` */
export async function boundedFetch(
  url: URL | string,
  options: RequestInit,
  bytesMax: number = limits.jwt.fetchBytesMax,
): Promise<Response> {
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new Error(`more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}
