import { open } from 'node:fs/promises';
import { forReading } from '../../disk/files.ts';
import { limits } from '../../limits.ts';

/**
 * Opens a file for a download, which reads a chunk when the client has taken the chunk before.
 *
 * @param onEnd called once, when the file is closed
 * @throws errors of the file system
 */
export async function openDownload(
  path: string,
  onEnd: () => void,
): Promise<ReadableStream<Uint8Array>> {
  const file = await open(path, forReading).catch((error) => {
    onEnd();
    throw error;
  });
  const close = () => file.close().finally(onEnd);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const chunk = Buffer.allocUnsafe(limits.ops.downloadChunkBytes);
          const { bytesRead } = await file.read(chunk, 0, chunk.length);
          if (bytesRead > 0) return controller.enqueue(chunk.subarray(0, bytesRead));
        } catch (error) {
          await close();
          throw error;
        }
        await close();
        controller.close();
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  );
}
