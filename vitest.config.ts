import { defineConfig } from 'vitest/config'

const globalSetup = ['test/support/postgres-cluster.ts']

/** `unit` runs in `npm run check`; the others need real components and run in `npm test`. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      { test: { name: 'unit', globalSetup, include: ['server/**/*.test.ts', 'ui/**/*.test.ts', 'scripts/**/*.test.ts'], testTimeout: 30_000, hookTimeout: 60_000 } },
      { test: { name: 'api', globalSetup, include: ['test/api/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
      { test: { name: 'clients', include: ['test/clients/**/*.test.ts'], testTimeout: 300_000, hookTimeout: 120_000 } },
      { test: { name: 'ui', globalSetup: ['test/ui/support/built.ts'], include: ['test/ui/**/*.test.ts'], testTimeout: 180_000, hookTimeout: 180_000 } },
    ],
  },
})
