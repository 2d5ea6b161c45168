import { must, type Ports } from '../ports.ts'
import { FOLDER } from './work.ts'

/** Of the machine's own cluster, see `/usr/lib/gatehouse/database`. */
const SOCKET = '/run/gatehouse-postgres'
const NAME = 'gatehouse'
/** The database is made here from the copy, and takes the other's place when it is whole. */
const FRESH = 'gatehouse_before'
const KEPT = `${FOLDER}/database`
const COPY = `${KEPT}/${NAME}.dump`
/** A database of a million packages takes minutes. */
const LONG_MS = 2 * 60 * 60_000

const asPostgres = (ports: Ports, program: string, args: readonly string[]): Promise<string> =>
  must(ports, 'runuser', ['-u', 'postgres', '--', program, '-h', SOCKET, ...args], { timeoutMs: LONG_MS })
const ask = async (ports: Ports, database: string, sql: string): Promise<string> =>
  (await asPostgres(ports, 'psql', ['-d', database, '-qtAX', '-v', 'ON_ERROR_STOP=1', '-c', sql])).trim()

/** The newest migration that ran. @throws Refused where the database does not answer */
export const schemaOf = (ports: Ports): Promise<string> =>
  ask(ports, NAME, 'select name from schema_migration order by id desc limit 1')

/** Bytes. */
export const sizeOf = async (ports: Ports): Promise<number> =>
  Number(await ask(ports, NAME, `select pg_database_size('${NAME}')`))

/** Copies the database as it is. Nobody may write meanwhile. */
export async function keepDatabase(ports: Ports): Promise<void> {
  // the way to it leads through a folder of root's
  await must(ports, 'chmod', ['711', FOLDER])
  await must(ports, 'install', ['-d', '-m', '700', '-o', 'postgres', '-g', 'postgres', KEPT])
  await asPostgres(ports, 'pg_dump', ['-Fc', '-Z1', '-f', `${COPY}.part`, NAME])
  await must(ports, 'sync', [`${COPY}.part`])
  await must(ports, 'mv', [`${COPY}.part`, COPY])
  await must(ports, 'sync', [KEPT])
}

/** Puts the copy in place of the database, also when it was cut short before. Nobody may write meanwhile. */
export async function putBackDatabase(ports: Ports): Promise<void> {
  await ask(ports, 'postgres', `drop database if exists ${FRESH} with (force)`)
  await ask(ports, 'postgres', `create database ${FRESH} owner ${NAME} template template0`)
  await asPostgres(ports, 'pg_restore', ['--exit-on-error', '-d', FRESH, COPY])
  await ask(ports, 'postgres', `drop database if exists ${NAME} with (force)`)
  await ask(ports, 'postgres', `alter database ${FRESH} rename to ${NAME}`)
}
