import { quotedString, tokenCharacter } from '../contract/media-type.ts';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { headersTooLarge, malformed, readField } from './request-head.ts';

/** Finds the data and the end of a body in the input of a connection. */
export interface BodyDecoder {
  readonly isDone: boolean;
  /** Hands over the data from `position` on. @returns the first unread position, or a refusal */
  read(input: Buffer, position: number): number | Refusal;
}

type OnPart = (part: Buffer) => void;

/** A body of a Content-Length (RFC 9112 §6.2). */
export function lengthDecoder(bytes: number, onPart: OnPart): BodyDecoder {
  let bytesToCome = bytes;
  return {
    get isDone() {
      return bytesToCome === 0;
    },
    read(input, position) {
      const end = handOver(input, position, bytesToCome, onPart);
      bytesToCome -= end - position;
      return end;
    },
  };
}

function handOver(input: Buffer, position: number, bytes: number, onPart: OnPart): number {
  const end = Math.min(input.length, position + bytes);
  if (end > position) onPart(input.subarray(position, end));
  return end;
}

const token = `${tokenCharacter}+`;
const extension = `${token}(?:[ \\t]*=[ \\t]*(?:${token}|${quotedString}))?`;
/** RFC 9112 §7.1, with no more white space than a recipient must accept (RFC 9110 §5.6.3). */
const chunkLine = new RegExp(`^0*([0-9a-f]{1,16})(?:[ \\t]*;[ \\t]*${extension})*\\r\\n$`, 'i');
const lineFeed = 0x0a;

/** A body in chunks (RFC 9112 §7.1). Extensions and trailers are checked, and then ignored. */
export function chunkedDecoder(onPart: OnPart): BodyDecoder {
  let expected: 'chunk line' | 'data' | 'end of data' | 'trailer' | 'nothing' = 'chunk line';
  let bytesToCome = 0;
  let trailers = 0;
  let chunkLineBytesLeft = limits.http.headerBytesMax;
  let trailerBytesLeft = limits.http.headerBytesMax;

  function readChunkLine(line: string): Refusal | undefined {
    const size = chunkLine.exec(line)?.[1];
    if (size === undefined) return malformedChunks;
    bytesToCome = Number.parseInt(size, 16);
    // Every chunk needs its size and line end. The bound is for what exceeds them.
    chunkLineBytesLeft -= line.length - size.length - '\r\n'.length;
    expected = bytesToCome === 0 ? 'trailer' : 'data';
    return chunkLineBytesLeft < 0 ? malformedChunks : undefined;
  }

  function readTrailer(line: string): Refusal | undefined {
    if (line === '\r\n') {
      expected = 'nothing';
      return undefined;
    }
    trailers += 1;
    trailerBytesLeft -= line.length;
    if (trailers > limits.http.headerFieldsMax || trailerBytesLeft < 0) return headersTooLarge;
    const field = line.endsWith('\r\n') ? readField(line.slice(0, -2)) : malformedChunks;
    if (field instanceof Refusal) return field;
    // RFC 9110 §6.5.1: a trailer must not change the framing.
    return field.name === 'content-length' || field.name === 'transfer-encoding'
      ? malformedChunks
      : undefined;
  }

  function readData(input: Buffer, position: number): number {
    const end = handOver(input, position, bytesToCome, onPart);
    bytesToCome -= end - position;
    if (bytesToCome === 0) expected = 'end of data';
    return end;
  }

  function readLine(input: Buffer, position: number): number | Refusal {
    const end = input.indexOf(lineFeed, position) + 1;
    if (end === 0 || end - position > limits.http.headerBytesMax) {
      if (input.length - position < limits.http.headerBytesMax) return position;
      return expected === 'trailer' ? headersTooLarge : malformedChunks;
    }
    const line = input.toString('latin1', position, end);
    return (expected === 'trailer' ? readTrailer(line) : readChunkLine(line)) ?? end;
  }

  function readEndOfData(input: Buffer, position: number): number | Refusal {
    if (input.length - position < 2) return position;
    expected = 'chunk line';
    return input.toString('latin1', position, position + 2) === '\r\n'
      ? position + 2
      : malformedChunks;
  }

  function readNext(input: Buffer, position: number): number | Refusal {
    if (expected === 'data') return readData(input, position);
    if (expected === 'end of data') return readEndOfData(input, position);
    return readLine(input, position);
  }

  return {
    get isDone() {
      return expected === 'nothing';
    },
    read(input, position) {
      let at = position;
      while (expected !== 'nothing' && at < input.length) {
        const next = readNext(input, at);
        if (next instanceof Refusal || next === at) return next;
        at = next;
      }
      return at;
    },
  };
}

const malformedChunks = malformed('the chunked body is malformed');
