import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** What no service has that the tests start for this. Other tests find these metrics. */
const ofOtherServices = [
  'plant_store_backup_failed',
  'plant_store_certificate_expires_seconds',
  'plant_store_decided_seconds',
  'plant_store_issuer_keys_read_seconds',
  'plant_store_plants_lost',
  'plant_store_token_expires_seconds',
  'plant_store_token_old_secret_expires_seconds',
  'plant_store_token_old_secret_last_used_seconds',
  'plant_store_token_refusals_total',
];

const histogramEnd = /_(bucket|count|sum)$/;

/** Of a histogram, the name that its lines begin with. */
export function metricNames(metrics: string): Set<string> {
  const lines = metrics.matchAll(/^([a-z_]+)(?:\{.*\})? \S+$/gm);
  return new Set([...lines].map(([, name = '']) => name.replace(histogramEnd, '')));
}

/**
 * The dashboard and the alerts name no metric beside these, and the dashboard has each metric of
 * the page but the one that the page excepts.
 */
export function assertMonitored(known: readonly string[]): void {
  const ofPage = namesIn('docs/operate/monitoring.md');
  const shown = namesIn('monitoring/grafana-dashboard.json');
  assert.deepEqual([...ofPage.difference(shown)], ['plant_store_disk_low']);
  for (const file of ['monitoring/grafana-dashboard.json', 'monitoring/alerts.yaml']) {
    const named = namesIn(file);
    assert(named.size >= 8, `${file} names ${named.size}`);
    const unknown = named.difference(new Set([...known, ...ofOtherServices]));
    assert.deepEqual([...unknown], [], file);
  }
}

function namesIn(file: string): Set<string> {
  const content = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  const names = content.match(/\b(plant_store|process)_[a-z_]+/g) ?? [];
  return new Set(names.map((name) => name.replace(histogramEnd, '')));
}
