/** Wording that the table, the plot and the progress share. */

/** As many clients at once as the service is held to. */
export const fullLoadConnections = 256;

export function connectionsText(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`;
}

/** With as many decimals as it has, unless they are said. */
export function numberText(value: number, decimals?: number): string {
  return value.toLocaleString(
    'en',
    decimals === undefined
      ? {}
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals },
  );
}

export function durationText(ms: number): string {
  return ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1000} s`;
}

/** In millions where there are that many. */
export function plantsText(plants: number): string {
  return plants >= 1e6
    ? `${numberText(Math.round(plants / 1e5) / 10)} M plants`
    : `${numberText(plants, 0)} plants`;
}
