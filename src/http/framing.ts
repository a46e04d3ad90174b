import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { quotedString, tokenCharacter } from './grammar.ts';
import { headersTooLarge, malformed, readField } from './request-head.ts';

/** Finds the parts of a body, and its end, in what comes on a connection. */
export interface BodyDecoder {
  /** Nothing of the body is still to come. */
  readonly isDone: boolean;
  /**
   * Hands over what `input` has of the body from `position` on.
   *
   * @returns where it stopped: at the end of the body, or where it needs more bytes; a refusal with
   * code 40006 or 43100 if the framing is broken
   */
  read(input: Buffer, position: number): number | Refusal;
}

type OnPart = (part: Buffer) => void;

/** A body that is as long as its Content-Length says (RFC 9112 §6.2). */
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

/** Hands over what has come of so many bytes. @returns where that ends */
function handOver(input: Buffer, position: number, bytes: number, onPart: OnPart): number {
  const end = Math.min(input.length, position + bytes);
  if (end > position) onPart(input.subarray(position, end));
  return end;
}

const token = `${tokenCharacter}+`;
/**
 * RFC 9112 §7.1, §7.1.1. The spaces are those that a recipient must accept (RFC 9110 §5.6.3), and
 * no others.
 */
const chunkLine = new RegExp(
  `^0*([0-9a-f]{1,16})(?:[ \\t]*;[ \\t]*${token}(?:[ \\t]*=[ \\t]*(?:${token}|${quotedString}))?)*\\r\\n$`,
  'i',
);
const lineFeed = 0x0a;

/** A body in chunks (RFC 9112 §7.1). Its extensions and trailers are checked, and mean nothing. */
export function chunkedDecoder(onPart: OnPart): BodyDecoder {
  let expected: 'chunk line' | 'data' | 'end of data' | 'trailer' | 'nothing' = 'chunk line';
  let bytesToCome = 0;
  let trailers = 0;
  /** What all lines may still hold, those of the chunks and those of the trailers. */
  let chunkLineBytesLeft = limits.http.headerBytesMax;
  let trailerBytesLeft = limits.http.headerBytesMax;

  function readChunkLine(line: string): Refusal | undefined {
    const size = chunkLine.exec(line)?.[1];
    if (size === undefined) return brokenChunk;
    bytesToCome = Number.parseInt(size, 16);
    // Its size and line end are a part of every chunk; only what is beyond them is of no use.
    chunkLineBytesLeft -= line.length - size.length - '\r\n'.length;
    expected = bytesToCome === 0 ? 'trailer' : 'data';
    return chunkLineBytesLeft < 0 ? brokenChunk : undefined;
  }

  function readTrailer(line: string): Refusal | undefined {
    if (line === '\r\n') {
      expected = 'nothing';
      return undefined;
    }
    trailers += 1;
    trailerBytesLeft -= line.length;
    if (trailers > limits.http.headerFieldsMax || trailerBytesLeft < 0) return headersTooLarge;
    const field = line.endsWith('\r\n') ? readField(line.slice(0, -2)) : brokenChunk;
    if (field instanceof Refusal) return field;
    // RFC 9110 §6.5.1: a trailer must not say anything about the framing.
    return field.name === 'content-length' || field.name === 'transfer-encoding'
      ? brokenChunk
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
      return expected === 'trailer' ? headersTooLarge : brokenChunk;
    }
    const line = input.toString('latin1', position, end);
    return (expected === 'trailer' ? readTrailer(line) : readChunkLine(line)) ?? end;
  }

  function readEndOfData(input: Buffer, position: number): number | Refusal {
    if (input.length - position < 2) return position;
    expected = 'chunk line';
    return input.toString('latin1', position, position + 2) === '\r\n' ? position + 2 : brokenChunk;
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

const brokenChunk = malformed('the framing of its chunks is broken');
