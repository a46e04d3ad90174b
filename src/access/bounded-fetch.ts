import { limits } from '../limits.ts';

/** `fetch` of a reply of at most `limits.jwt.fetchBytesMax`, which is read whole. @throws an error that says so if the reply is large, or as `fetch` */
export async function boundedFetch(url: URL | string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.jwt.fetchBytesMax)
      throw new Error(`more than ${limits.jwt.fetchBytesMax} bytes`);
    chunks.push(chunk);
  }
  const { status, headers } = response;
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}
