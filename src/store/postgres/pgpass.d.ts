declare module 'pgpass' {
  /** Looks into ~/.pgpass or the file of PGPASSFILE (libpq-pgpass.html). */
  export default function pgpass(
    of: { host: string; port: number; database: string; user: string },
    done: (password: string | undefined) => void,
  ): void;
}
