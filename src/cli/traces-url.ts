/** @param endpoint as OTEL_EXPORTER_OTLP_ENDPOINT has it: a base URL, without a slash at its end */
export function tracesUrl(endpoint: string | undefined): string | undefined {
  return endpoint === undefined ? undefined : `${endpoint}/v1/traces`;
}
