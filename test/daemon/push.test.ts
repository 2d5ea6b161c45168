import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startDaemon, type Daemon } from '../support/daemon.ts'
import { buildDeb } from '../support/packages.ts'
import { findProgram } from '../support/tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
let daemon: Daemon
let folder: string
let token: string

beforeAll(async () => {
  daemon = await startDaemon({ env: { LOG_LEVEL: 'error' } })
  const admin = await daemon.setupAdmin()
  await daemon.call('POST', '/distributions/init', { token: admin, body: { codename: 'jammy' } })
  const made = await daemon.call<{ token: string }>('POST', '/auth/api-tokens', {
    token: admin,
    body: { name: 'ci', role: 'uploader', scopes: { upload_only: true, uploads_per_minute: 1000 } },
  })
  token = made.body.token
  folder = await mkdtemp(join(tmpdir(), 'gh push '))
})
afterAll(async () => {
  await daemon.close()
  await rm(folder, { recursive: true, force: true })
})

/** Both ways to push, with the same arguments and environment. */
const WAYS = {
  'npm run push': [process.execPath, [join(ROOT, 'server', 'cli', 'push.ts')]],
  'push.sh with dash': [findProgram('dash') ?? 'sh', [join(ROOT, 'scripts', 'push.sh')]],
} as const

interface Run {
  readonly code: number
  readonly out: string
  readonly err: string
}

describe.each(Object.entries(WAYS))('%s', (_, [program, first]) => {
  const tag = first[0].endsWith('.sh') ? 'sh' : 'node'
  const push = (args: readonly string[], env: Record<string, string> = {}): Promise<Run> =>
    new Promise(resolve => {
      const given = { PATH: process.env.PATH ?? '', GATEHOUSE_URL: daemon.url, GATEHOUSE_TOKEN: token, ...env }
      execFile(program, [...first, ...args], { env: given, cwd: folder }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err })
      })
    })
  const write = async (filename: string, content: Buffer | string): Promise<string> => {
    await writeFile(join(folder, filename), content)
    return filename
  }
  const deb = async (name: string, filename: string): Promise<string> =>
    write(filename, await buildDeb({ name: `${tag}-${name}`, version: '1' }))

  test('prints a line for each file, whatever its name, and ends with 0', async () => {
    const files = [await deb('a', 'a b;c,d.deb'), await deb('b', `it's "b".deb`), await deb('c', '-c.deb')]
    const { code, out, err } = await push(['--to', 'jammy', '--', ...files.slice(0, 2), './-c.deb'])
    expect(err).toBe('')
    const lines = out.trim().split('\n')
    expect([code, lines.length]).toEqual([0, 3])
    expect(lines[0]).toBe('201 published a b;c,d.deb')
    expect(lines[2]).toBe('201 published -c.deb')
    for (const line of lines) expect(line).toMatch(/^201 published /)
  })

  test('ends with 1 when one is refused, says why, and takes the others', async () => {
    const files = [await deb('d', 'd.deb'), await write('e.deb', 'no package'), await deb('f', 'f.deb')]
    const { code, out } = await push(['--to', 'jammy', ...files])
    const lines = out.trim().split('\n')
    expect([code, lines.length]).toEqual([1, 3])
    expect(lines[0]).toBe('201 published d.deb')
    expect(lines[1]).toMatch(/^422 [a-z_]+ e\.deb: .*\w/)
    expect(lines[2]).toBe('201 published f.deb')
  })

  test('sends more files than one request has in several', async () => {
    const files = await Promise.all(Array.from({ length: 205 }, (_unused, n) => deb(`many-${n}`, `many-${n}.deb`)))
    const { code, out } = await push(['--to', 'jammy', ...files])
    expect([code, out.trim().split('\n').length]).toEqual([0, 205])
  }, 120_000)

  test('says in words what is wrong with the call, the token and the network, and never shows the token', async () => {
    const file = await deb('g', 'g.deb')
    const wrong: [number, RegExp, readonly string[], Record<string, string>?][] = [
      [2, /--to/, [file]],
      [2, /no (readable )?file/, ['--to', 'jammy', 'absent.deb']],
      [2, /GATEHOUSE_TOKEN/, ['--to', 'jammy', file], { GATEHOUSE_TOKEN: '' }],
      [2, /GATEHOUSE_URL/, ['--to', 'jammy', file], { GATEHOUSE_URL: '' }],
      [1, /401/, ['--to', 'jammy', file], { GATEHOUSE_TOKEN: 'svc_secret' }],
      [1, /narnia/, ['--to', 'narnia', file]],
      [1, /does not answer/, ['--to', 'jammy', '--url', 'http://127.0.0.1:9', file]],
    ]
    for (const [code, said, args, env] of wrong) {
      const run = await push(args, env)
      expect([run.code, run.out]).toEqual([code, ''])
      expect(run.err).toMatch(said)
      expect(run.err).not.toContain(env?.GATEHOUSE_TOKEN === 'svc_secret' ? 'svc_secret' : token)
    }
  })

  test('waits as long as it is asked to after too many requests, then sends again', async () => {
    let asked = 0
    const reply = { distribution: 'jammy', taken: 1, refused: 0, files: [] as unknown[] }
    reply.files.push({ filename: 'h.deb', status: 201, body: { status: 'published', state: 'published' } })
    const busy = createServer((request, response) => {
      request.resume().on('end', () => {
        asked++
        if (asked === 1) response.writeHead(429, { 'Retry-After': '1' }).end('{}')
        else response.end(JSON.stringify(reply))
      })
    }).listen(0, '127.0.0.1')
    await once(busy, 'listening')
    const { port } = busy.address() as AddressInfo
    const file = await deb('h', 'h.deb')
    expect(await push(['--to', 'jammy', '--url', `http://127.0.0.1:${port}`, file])).toEqual({
      code: 0,
      out: '201 published h.deb\n',
      err: expect.stringMatching(/429, again in 1 s/) as string,
    })
    expect(asked).toBe(2)
    busy.close()
  })
})
