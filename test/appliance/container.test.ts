import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { appendFile, cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { mustRun, run } from '../support/tools.ts'
import { readCompose, startPart, stepsOf, type Started } from './support/parts.ts'
import { createRoot, type Root } from './support/root.ts'

const ROOT = join(import.meta.dirname, '../..')
const APPLIANCE = join(ROOT, 'appliance')
const compose = readCompose(join(APPLIANCE, 'compose.yaml'))
const parts = Object.entries(compose.services)
const { lacking, debian, bundle, suite } = inject('appliance')

describe('compose.yaml', () => {
  test.each(parts)('%s is not root, writes to volumes alone, and is looked at', (_, part) => {
    expect(part.user).toMatch(/^(gatehouse|gatehouse-web|postgres|clamav)(:gatehouse)?$/)
    expect(part).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    expect(part.healthcheck).toBeDefined()
    expect(part.mem_limit).toMatch(/^\d+[mg]$/)
    expect(part.pids_limit).toBeGreaterThan(0)
  })
  test('every volume and network is declared, and used', () => {
    const used = new Set(parts.flatMap(([, { volumes = [] }]) => volumes.map(line => line.split(':')[0] ?? '')))
    expect([...used].sort()).toEqual(Object.keys(compose.volumes).sort())
    expect([...new Set(parts.flatMap(([, { networks = [] }]) => networks))]).toEqual(Object.keys(compose.networks))
  })
  test('only the web server has a port outside', () => {
    expect(parts.filter(([, { ports }]) => ports !== undefined).map(([name]) => name)).toEqual(['web'])
  })
})

// no container engine here: its steps are done in a root, and its parts started as an engine would start them
describe.skipIf(lacking !== undefined)(`the parts of compose.yaml (${lacking ?? suite})`, () => {
  let root: Root
  let work: string
  let network: ChildProcess
  const started = new Map<string, Started>()

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'gatehouse-parts-'))
    root = await createRoot(debian, bundle)
    for (const [word, rest] of stepsOf(await readFile(join(APPLIANCE, 'Containerfile'), 'utf8'))) {
      if (word === 'RUN') {
        // the packages are there already
        if (rest.includes('apt-get')) continue
        const { code, err } = await root.inside('sh', '-c', rest)
        expect([rest, code, err]).toEqual([rest, 0, ''])
        continue
      }
      const words = rest.split(/\s+/)
      const to = join(root.folder, words.at(-1) ?? '')
      for (const from of words.slice(0, -1)) {
        const found = from.startsWith('dist/') ? [bundle] : globSync(from, { cwd: ROOT }).map(name => join(ROOT, name))
        expect(found, from).not.toEqual([])
        for (const one of found) {
          const isFolder = spawnSync('test', ['-d', one]).status === 0
          await cp(one, isFolder || !to.endsWith('/') ? to : join(to, basename(one)), { recursive: true })
        }
      }
    }
    await appendFile(join(root.folder, 'etc/hosts'), '127.0.0.1 localhost daemon\n')
    await mkdir(join(work, 'volumes'))
    network = spawn(
      'unshare',
      [
        '--net',
        'sh',
        '-c',
        'ip link set lo up && echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start; exec sleep infinity',
      ],
      { stdio: 'ignore' },
    )
    await setTimeout(300)
    // in the order of depends_on
    for (const name of ['database', 'clamd']) start(name)
    await until('a database', async () => (await inside('database', '/usr/lib/gatehouse/health')).code === 0)
    for (const name of ['daemon', 'web']) start(name)
  })
  afterAll(async () => {
    for (const one of started.values()) if (one.child.exitCode === null) one.kill()
    network?.kill('SIGKILL')
    await setTimeout(500)
    await root?.close()
    await rm(work, { recursive: true, force: true })
  })

  function partOf(name: string) {
    const part = compose.services[name]
    if (part === undefined) throw new Error(`There is no part ${name}`)
    return part
  }
  const at = () => ({ volumes: join(work, 'volumes'), outer: network.pid ?? 0 })
  function start(name: string): void {
    const words = ['/usr/lib/gatehouse/entry', ...partOf(name).command]
    started.set(name, startPart(root.folder, partOf(name), { ...at(), words }))
  }
  /** A command in the container of a part, with its user and its volumes. */
  async function inside(name: string, ...words: string[]): Promise<{ code: number | null; said: string }> {
    const { child, said } = startPart(root.folder, partOf(name), { ...at(), words })
    const code = await new Promise<number | null>(resolve => child.once('close', resolve))
    return { code, said: said() }
  }
  async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    for (const end = Date.now() + 120_000; Date.now() < end; await setTimeout(500)) {
      const found = await look().catch(() => undefined)
      if (found !== undefined && found !== false) return found
    }
    const said = [...started].map(([name, one]) => `${name}: ${one.said().slice(-600)}`).join('\n')
    throw new Error(`After two minutes still not: ${what}\n${said}`)
  }
  const curl = (...words: string[]) =>
    run('nsenter', ['-t', String(network.pid), '-n', '--', 'curl', '-sS', '--max-time', '5', ...words])
  const authority = (): string => join(work, 'volumes/authority/authority/authority.crt')

  test('are healthy over TLS, by a certificate of their own authority', async () => {
    const answer = await until('an answer', async () => {
      const { code, out } = await curl(
        '--cacert',
        authority(),
        '--resolve',
        'gatehouse:443:127.0.0.1',
        'https://gatehouse/health/ready',
        '-w',
        ' %{http_code} %{http_version}',
      )
      return code === 0 && out.endsWith(' 200 2') && out
    })
    expect(answer).toContain('"ready":true')
    for (const name of ['database', 'daemon', 'web'])
      expect(await inside(name, '/usr/lib/gatehouse/health'), name).toEqual({ code: 0, said: '' })
    expect(started.get('web')?.said()).toMatch(/^Fingerprint of the authority: (?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/m)
  })

  test('make the first admin with the token that the daemon made', async () => {
    const { said } = await inside('daemon', '/usr/lib/gatehouse/entry', 'token')
    expect(said).toMatch(/^[0-9A-Z]{5}(-[0-9A-Z]{5}){3}\n$/)
    const json = JSON.stringify({ admin_username: 'admin', admin_password: 'Correct-horse-7' })
    const words = ['-k', '-H', 'Content-Type: application/json', '-H', `X-Setup-Token: ${said.trim()}`, '-d', json]
    const { out } = await curl(...words, '-o', '/dev/null', '-w', '%{http_code}', 'https://127.0.0.1/api/v1/setup/')
    expect(out).toBe('201')
  })

  test('have no right to what is not theirs', async () => {
    for (const [name, path] of [
      ['web', '/usr/x'],
      ['daemon', '/opt/gatehouse/x'],
      ['web', '/repos/x'],
      ['clamd', '/etc/x'],
    ] as const)
      expect((await inside(name, 'sh', '-c', `touch ${path}`)).said, path).toMatch(/Read-only|Permission denied/)
    expect((await inside('web', 'cat', '/etc/gatehouse/secrets')).code).not.toBe(0)
    const { said } = await inside(
      'daemon',
      'sh',
      '-c',
      'grep -E "^(CapBnd|CapEff|NoNewPrivs)" /proc/self/status | tr -s "\\t\\n" " "',
    )
    expect(said).toMatch(/CapEff: 0+ CapBnd: 0+ NoNewPrivs: 1/)
  })

  test('clamd starts when signatures come', async () => {
    expect(
      await mustRun('sh', [
        '-c',
        `printf 'Eicar-Test:0:*:58354f2150254041505b345c505a58353428505e2937\\n' >${work}/volumes/signatures/test.ndb`,
      ]),
    ).toBe('')
    await until('clamd', async () => {
      const { out } = await curl('-k', 'https://127.0.0.1/health')
      return /"clamav":\{"ok":true/.test(out)
    })
  })
})
