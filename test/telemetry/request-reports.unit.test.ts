import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../src/contract/problems.ts';
import type { Exchange } from '../../src/http/exchange.ts';
import { type RequestReport, reportRequests } from '../../src/telemetry/request-reports.ts';
import { IssuerOutage, outage } from '../../src/tokens/access.ts';

test('refusals while the store is away are an outage of the store, and those while an issuer is away are not', () => {
  const reports: RequestReport[] = [];
  for (const Kind of [Refusal, IssuerOutage]) {
    using requests = reportRequests('', Date.now, (report) => reports.push(report));
    requests.noteRefusal(outage('away', Kind), { number: 1, address: '' } as Exchange);
  }
  assert.deepEqual(
    reports.map(({ failure }) => failure?.reason),
    ['away', undefined],
  );
});
