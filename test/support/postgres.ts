import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { createDb, type Db, type DatabaseAddress } from '../../server/db/db.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly postgres: { readonly socket: string; readonly kind: 'embedded' | 'debian' }
  }
}

/** A throw-away database with the newest schema. */
export interface TestDb {
  readonly db: Db
  readonly address: DatabaseAddress
  close(): Promise<void>
}

export const TEMPLATE = 'gatehouse_template'

/**
 * Copies the migrated template of the run's one cluster, which `postgres-cluster.ts` starts.
 * @param options.isEmpty  without any table instead
 */
export async function createTestDb(
  options: { readonly poolSize?: number; readonly isEmpty?: boolean } = {},
): Promise<TestDb> {
  // projects without a cluster have none
  const cluster = inject('postgres') as ReturnType<typeof inject<'postgres'>> | undefined
  if (cluster === undefined)
    throw new Error('This file asks the database, and its project has none: name it *.db.test.ts.')
  const { socket } = cluster
  const database = `t_${randomBytes(8).toString('hex')}`
  const admin = createDb({ socket, database: 'postgres' }, { poolSize: 1 })
  await admin.query(`create database ${database} template ${options.isEmpty === true ? 'template0' : TEMPLATE}`)
  const address = { socket, database }
  const db = createDb(address, options)
  return {
    db,
    address,
    close: async () => {
      await db.close()
      await admin.query(`drop database if exists ${database} with (force)`)
      await admin.close()
    },
  }
}
