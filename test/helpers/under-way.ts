/**
 * Marks work that the test awaits later. Its rejection counts there; when the test fails before, it
 * is no second failure.
 */
export function underWay<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
