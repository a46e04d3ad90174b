import { randomUUID } from 'node:crypto';
import { sendSpans } from '../../service/collector.ts';
import { exportRequest } from '../../trace/otlp.ts';
import { type Finding, ok, warning } from './check.ts';

/** The collector of traces, which gets a request without spans. */
export async function collectorFinding(url: string): Promise<Finding> {
  const result = await sendSpans(url, exportRequest([], randomUUID()));
  if (result.outcome === 'taken') return ok(`${url} takes spans`);
  return warning(
    `${url} does not take spans (${result.reason})`,
    'creates are stored all the same, and their spans are dropped',
  );
}
