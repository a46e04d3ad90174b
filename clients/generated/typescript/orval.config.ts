export default {
  plants: {
    input: 'openapi.json',
    output: {
      target: 'orval/plants.ts',
      client: 'fetch',
      baseUrl: { runtime: 'process.env.URL' },
      // An int64 becomes a bigint.
      override: { useBigInt: true },
    },
  },
};
