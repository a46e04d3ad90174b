/** Wording that the table, the plot and the progress share. */

export function connectionsText(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`;
}

export function numberText(value: number, decimals: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}
