const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** A size with at most three significant digits: `71.3 GiB`, `512 KiB`, `0 B`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let power = 0;
  for (; value >= 999.5 && power < units.length - 1; power += 1) value /= 1_024;
  return `${Number(value.toPrecision(3))} ${units[power]}`;
}
