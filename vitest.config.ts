import { defineConfig } from 'vitest/config'

const globalSetup = ['test/support/postgres-cluster.ts']
// what is waited for is waited for; a failure says so a little later
const expect = { poll: { timeout: 15_000 } }

// what a test file needs stands in its name; lint holds the first to it
const beside = (name: string): string[] =>
  ['server', 'ui', 'scripts', 'electron', 'appliance'].map(folder => `${folder}/**/*${name}.test.ts`)

/**
 * `NAME.test.ts` needs this process alone and runs in `npm run check` (project `unit`), `NAME.db.test.ts` asks the
 * database (`db`), `NAME.tool.test.ts` starts programs (`tools`). `npm test` runs everything.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          expect,
          include: beside(''),
          exclude: [...beside('.db'), ...beside('.tool')],
          testTimeout: 90_000,
        },
      },
      { test: { name: 'db', expect, globalSetup, include: beside('.db'), testTimeout: 90_000, hookTimeout: 90_000 } },
      { test: { name: 'tools', expect, include: beside('.tool'), testTimeout: 90_000, hookTimeout: 90_000 } },
      {
        test: {
          name: 'api',
          expect,
          globalSetup,
          include: ['test/api/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'daemon',
          expect,
          include: ['test/daemon/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'clients',
          expect,
          include: ['test/clients/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'appliance',
          expect,
          globalSetup: ['test/appliance/support/prepared.ts'],
          include: ['test/appliance/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 600_000,
        },
      },
      {
        test: {
          name: 'qemu',
          expect,
          globalSetup: ['test/qemu/support/prepared.ts'],
          include: ['test/qemu/**/*.test.ts'],
          // a cold start takes minutes, and those of a power cut are two
          testTimeout: 5_400_000,
          hookTimeout: 1_800_000,
        },
      },
      {
        test: {
          name: 'desktop',
          expect,
          globalSetup: ['test/ui/support/built.ts'],
          include: ['test/desktop/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          name: 'ui',
          expect,
          globalSetup: ['test/ui/support/built.ts'],
          include: ['test/ui/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
