import { defineConfig } from 'vitest/config'

const globalSetup = ['test/support/postgres-cluster.ts']
// on a machine that others use too, a browser or a client may miss its time once; the second miss is a failure
const retry = process.env.CI === 'true' ? 1 : 0

/** `unit` runs in `npm run check`; the others need real components and run in `npm test`. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      { test: { name: 'unit', globalSetup, include: ['server/**/*.test.ts', 'ui/**/*.test.ts', 'scripts/**/*.test.ts'], testTimeout: 90_000, hookTimeout: 90_000 } },
      { test: { name: 'api', globalSetup, include: ['test/api/**/*.test.ts'], testTimeout: 180_000, hookTimeout: 180_000, retry } },
      { test: { name: 'clients', retry, include: ['test/clients/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 120_000 } },
      { test: { name: 'ui', retry, globalSetup: ['test/ui/support/built.ts'], include: ['test/ui/**/*.test.ts'], testTimeout: 180_000, hookTimeout: 180_000 } },
    ],
  },
})
