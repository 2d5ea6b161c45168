import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDb } from './db.ts'
import { startEmbedded, type Embedded } from './embedded.ts'

let root: string
let folder: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'embedded-'))
  await chmod(root, 0o755)
  folder = join(root, 'data')
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function ask<Row extends object>(server: Embedded, sql: string): Promise<Row[]> {
  const db = createDb(server, { poolSize: 1 })
  try {
    return await db.query<Row>(sql)
  } finally {
    await db.close()
  }
}

async function withServer<T>(work: (server: Embedded) => Promise<T>): Promise<T> {
  const server = await startEmbedded({ folder, durable: false })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

async function gone(pid: number): Promise<void> {
  while (existsSync(`/proc/${pid}/exe`)) await new Promise(resolve => setTimeout(resolve, 20))
}

/** A process of its own that starts a server and prints the server's pid. */
async function startElsewhere(): Promise<{ kill(): void; serverPid: number }> {
  const script = `const { startEmbedded } = await import(${JSON.stringify(join(import.meta.dirname, 'embedded.ts'))})
    const server = await startEmbedded({ folder: ${JSON.stringify(folder)}, durable: false })
    process.stdout.write(server.pid + '\\n'); setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const serverPid = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', (text: Buffer) => resolve(Number(text.toString())))
    child.once('exit', code => reject(new Error(`ended with ${code}`)))
  })
  return {
    kill: () => {
      child.kill('SIGKILL')
    },
    serverPid,
  }
}

describe('the embedded PostgreSQL', () => {
  test('keeps what was written over a stop and a start, and listens on no TCP port', async () => {
    await withServer(server => ask(server, 'create table kept as select 42 as answer'))
    await withServer(async server => {
      expect(await ask(server, 'select answer from kept')).toEqual([{ answer: 42 }])
      expect(await ask(server, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
      expect(
        await ask(
          server,
          'select datcollate, pg_encoding_to_char(encoding) as encoding from pg_database where datname = current_database()',
        ),
      ).toEqual([{ datcollate: 'C.UTF-8', encoding: 'UTF8' }])
    })
  })

  test('a lasting one syncs to disk', async () => {
    const server = await startEmbedded({ folder })
    try {
      expect(await ask(server, 'show fsync')).toEqual([{ fsync: 'on' }])
      expect(await ask(server, 'show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
    } finally {
      await server.stop()
    }
  })

  test('dies when its parent is killed, and the next start succeeds', async () => {
    const { kill, serverPid } = await startElsewhere()
    kill()
    await withServer(server => ask(server, 'select 1')) // while the old one may still be on its way out
    await gone(serverPid)
    await withServer(server => ask(server, 'select 1'))
  })

  test('is started again when it is killed, with everything that was committed', async () => {
    const troubles: string[] = []
    const server = await startEmbedded({
      folder,
      onTrouble: trouble => {
        troubles.push(trouble)
      },
    })
    const db = createDb(server)
    try {
      await db.query('create table kept as select 42 as answer')
      const before = server.pid
      process.kill(before, 'SIGKILL')
      await gone(before)
      // a session of the old one may hold the folder for a while
      await expect.poll(() => server.pid, { timeout: 60_000 }).not.toBe(before)
      // connections that the pool keeps from before fail once
      await expect
        .poll(() => db.query('select answer from kept').catch(() => undefined), { timeout: 60_000 })
        .toEqual([{ answer: 42 }])
      expect(troubles[0]).toMatch(/PostgreSQL ended with SIGKILL; it is started again/)
    } finally {
      await db.close()
      await server.stop()
    }
    expect(existsSync(server.socket)).toBe(false)
  })

  test('a second server on the same folder is refused at once with the process that has it', async () => {
    const { kill, serverPid } = await startElsewhere()
    try {
      await expect(startEmbedded({ folder, durable: false })).rejects.toThrow(
        /is in use by pid \d+\. Stop the other Gatehouse/,
      )
    } finally {
      kill()
      await gone(serverPid)
    }
  })

  test.for<readonly [string, string]>([
    ['a number that nobody has', '4194303'],
    ['a number that came to another program', String(process.pid)],
    ['no number', 'x'],
    ['nothing', ''],
  ])('a pid file that was left behind with %s is no obstacle', async ([, content]) => {
    await withServer(async () => undefined)
    await writeFile(join(folder, 'postmaster.pid'), `${content}\n${folder}\n`)
    await withServer(server => ask(server, 'select 1'))
  })

  test('a process number used again by the PostgreSQL of another folder does not prevent the start', async () => {
    await withServer(async () => undefined)
    const other = await startEmbedded({ folder: join(root, 'other'), durable: false })
    try {
      await writeFile(join(folder, 'postmaster.pid'), await readFile(join(root, 'other', 'postmaster.pid')))
      await withServer(server => ask(server, 'select 1'))
    } finally {
      await other.stop()
    }
  })

  test('a first start that was killed in the middle is begun again', async () => {
    await mkdir(`${folder}.part`, { recursive: true })
    await writeFile(join(`${folder}.part`, 'PG_VERSION'), '18\n')
    await withServer(server => ask(server, 'select 1'))
    expect(existsSync(`${folder}.part`)).toBe(false)
  })

  test.skipIf(process.getuid?.() !== 0)(
    'as root where user namespaces are refused it runs as another user',
    async () => {
      const bin = join(root, 'bin')
      await mkdir(bin)
      await writeFile(join(bin, 'unshare'), '#!/bin/sh\necho "unshare failed: Operation not permitted" >&2\nexit 1\n', {
        mode: 0o755,
      })
      await withServer(server => ask(server, 'create table kept as select 42 as answer'))
      const path = process.env.PATH
      process.env.PATH = `${bin}${delimiter}${path}`
      try {
        await withServer(async server => {
          expect(await readFile(`/proc/${server.pid}/status`, 'utf8')).toMatch(/^Uid:\s+65534\s/m)
          expect(await ask(server, 'select answer from kept')).toEqual([{ answer: 42 }])
        })
      } finally {
        process.env.PATH = path
      }
      await withServer(server => ask(server, 'select 1')) // and back again
    },
  )
})
