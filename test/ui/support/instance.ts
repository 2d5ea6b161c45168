import { spawn } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generateKey } from 'openpgp'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../../scripts/daemon-flags.mjs'
import { hasClamd, startClamd } from '../../support/clamd.ts'
import type { FakeAnswers } from '../../support/fake-engine-daemon.ts'
import { createSigner } from '../../support/cosign.ts'
import { buildApk } from '../../support/packages-apk.ts'
import { buildRpm } from '../../support/packages-rpm.ts'
import { buildDeb, EICAR } from '../../support/packages.ts'
import { osvRecord, osvZip } from '../../support/zip.ts'

type Known = FakeAnswers['findings'][string][number]

export const BOSS = { name: 'p.raman', password: 'harbour-Lantern-88' } as const
export const SETUP_TOKEN = 'K7MQR2XD9HVT'

const RACE: Known = {
  id: 'CVE-2024-6387',
  severity: 'high',
  fixed_in: '1:8.9p1-3ubuntu0.10',
  epss: 0.62,
  summary: 'A race in the signal handling of sshd lets a remote client run code before it signs in.',
}
const LUA: Known = {
  id: 'CVE-2025-49844',
  severity: 'critical',
  fixed_in: '5:7.0.15-1~deb12u6',
  kev: true,
  epss: 0.31,
  summary: 'A Lua script frees memory that is still used and runs code in the server.',
}
const COOKIE: Known = {
  id: 'CVE-2026-2391',
  severity: 'medium',
  summary: 'A cookie for one host is sent to another after a redirect.',
}
const LOW: Known = {
  id: 'CVE-2025-9086',
  severity: 'low',
  summary: 'A heap over-read of one byte when a cookie path is compared.',
}
const many = (n: number): Known[] =>
  Array.from({ length: n }, (_, k) => ({
    id: `CVE-2025-${22_000 + k * 37}`,
    severity: (['high', 'medium', 'low', 'unknown', 'negligible'] as const)[k % 5] ?? 'low',
    summary: `Opening a prepared file of kind ${k + 1} ends the program or reads what lies behind it in memory.`,
    ...(k % 3 === 0 ? { fixed_in: `1.1.${k + 2}` } : {}),
    epss: k / 400,
  }))

/**
 * What the engine says, by name and version. The first wait for review, then two that are quarantined, the rest is
 * published.
 */
const FINDINGS: Readonly<Record<string, readonly Known[]>> = {
  'openssh-server 1:8.9p1-3': [RACE],
  'plant-telemetry 3.3.0': [RACE, COOKIE, LOW],
  'libtiff5 4.3.0-6': many(34),
  'scada-bridge 2.0.5-1': [{ ...RACE, id: 'CVE-2026-1187', kev: true }],
  'nginx 1.24.0-4': [{ ...RACE, id: 'CVE-2026-0912', epss: 0.02 }],
  'libopenscenegraph-reference-viewer-data 3.6.5+dfsg1-7build2~ubuntu22.04.1': [{ ...RACE, id: 'CVE-2025-30112' }],
  'busybox-extra 1.36.1-r29': [{ ...RACE, id: 'CVE-2026-0031' }],
  'redis-server 5:7.0.15-1~deb12u1': [LUA],
  'imagemagick 8:6.9.11': [{ ...LUA, id: 'CVE-2026-3010', kev: false }],
  'curl 7.88.1-10': [COOKIE, LOW],
  'git 1:2.39.5': [COOKIE],
  'vim 9.0.1378-2': [LOW, { ...LOW, id: 'CVE-2026-0077', severity: 'negligible' }],
}
const DEBS = [
  'curl 7.88.1-10',
  'git 1:2.39.5',
  'vim 9.0.1378-2',
  'htop 3.2.2-2',
  'tmux 3.3a-3',
  'jq 1.6-2.1',
  'zstd 1.5.4',
  'rsync 3.2.7-1',
  'nano 7.2-1',
  'tree 2.1.0-1',
  'plant-agent 3.1.0',
  'plant-agent 3.2.0',
  'plant-agent 3.2.1',
  'libplant2 1.7.0-1',
  'libplant2 1.8.0-1',
  'badge-kiosk 2.0.4-1',
  'label-printer 0.9.12',
  'weigh-bridge 4.4.1+git20260817.3f2a91c-1',
]
const HELD = [
  'openssh-server 1:8.9p1-3',
  'plant-telemetry 3.3.0',
  'libtiff5 4.3.0-6',
  'scada-bridge 2.0.5-1',
  'nginx 1.24.0-4',
  'libopenscenegraph-reference-viewer-data 3.6.5+dfsg1-7build2~ubuntu22.04.1',
]
const KEPT_APART = ['redis-server 5:7.0.15-1~deb12u1', 'imagemagick 8:6.9.11']

/** Vulnerability data of one distribution, as they are imported. */
export const ADVISORIES = osvZip(
  Array.from({ length: 400 }, (_, n) =>
    osvRecord(`UBUNTU-CVE-${2020 + (n % 5)}-${20_000 + n}`, [['Ubuntu:22.04:LTS', `filler${n}`, '1']]),
  ),
)

/** An access log of 30 days: some packages are wanted more than others, and weekends are quiet. */
function accessLog(): string {
  const wanted = ['plant-agent', 'curl', 'plant-agent', 'git', 'plant-agent', 'vim', 'curl', 'rsync', 'jq']
  return Array.from({ length: 30 }, (_, ago) => {
    const date = new Date(Date.now() - ago * 86_400_000).toUTCString()
    const [, day, month, year] = /^\w+, (\d\d) (\w+) (\d{4})/.exec(date) ?? []
    const many = ago === 4 ? 184 : /^S/.test(date) ? 12 : 58 + ((ago * 7) % 19)
    return Array.from({ length: many }, (_, n) => {
      const name = wanted[(n * 5 + ago) % wanted.length] ?? ''
      const [codename, status] = [n % 4 === 0 ? 'bookworm' : 'jammy', n % 40 === 0 ? 404 : 200]
      return `10.20.${n % 4}.${n % 60} - - [${day}/${month}/${year}:00:0${n % 10}:00 +0000] "GET /repos/pool/${codename}/main/${name[0]}/${name}/${name}_3.1.0_amd64.deb HTTP/1.1" ${status} ${316_000 + n} "-" "Debian APT-HTTP/1.3 (2.6.1)" "-" id-${n}\n`
    }).join('')
  }).join('')
}

const split = (text: string): { name: string; version: string } => {
  const [name = '', version = ''] = text.split(' ')
  return { name, version }
}
export const deb = (text: string, files: Record<string, string> = {}): Promise<Buffer> =>
  buildDeb({
    ...split(text),
    fields: {
      Depends: 'libc6 (>= 2.34)',
      Description: `${split(text).name} for the shop floor\n Collects what the machines say.`,
    },
    files: { [`usr/share/doc/${split(text).name}/copyright`]: 'MIT', ...files },
  })

export interface Instance {
  readonly url: string
  /** Calls the API; anonymous without a token. @throws with the answer when it refuses */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Record<string, unknown>>
  token(name: string): Promise<string>
  /**
   * What a plant of middle size keeps: dozens of packages in three formats, held and quarantined ones, people, groups,
   * tokens, generations.
   */
  seed(): Promise<void>
  pause(): void
  resume(): void
  stop(): Promise<void>
}

/**
 * The real daemon on a free port, with an engine that knows FINDINGS, and with clamd where there is one.
 * @param env  what it is to know of the machine it runs on
 */
export async function startInstance(env: Readonly<Record<string, string>> = {}): Promise<Instance> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-instance-'))
  await writeFile(join(folder, 'answers.json'), JSON.stringify({ findings: FINDINGS } satisfies FakeAnswers))
  for (const tree of ['aptly-public/dists', 'pulp-export/repodata', 'usb-stick'])
    await mkdir(join(folder, 'trees', tree), { recursive: true })
  const clamd = hasClamd ? await startClamd() : undefined
  const { PATH = '', HOME = '/root' } = process.env
  const child = spawn(
    process.execPath,
    [...DAEMON_FLAGS, join(import.meta.dirname, '../../support/fake-engine-daemon.ts')],
    {
      env: {
        PATH,
        HOME,
        ...DAEMON_ENV,
        ENV: 'test',
        HOST: '127.0.0.1',
        PORT: '0',
        LOG_LEVEL: 'info',
        SETUP_TOKEN,
        REPOS_ROOT: join(folder, 'repos'),
        IMPORT_ROOTS: join(folder, 'trees'),
        FAKE_ANSWERS: join(folder, 'answers.json'),
        ...env,
        ...(clamd === undefined ? {} : { CLAMD_SOCKET: clamd.address.socket }),
      },
      stdio: ['ignore', 'pipe', 'ignore'], // the log, which the console shows
    },
  )
  const ended = new Promise(resolve => child.once('exit', resolve))
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      const found = /ready at (\S+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', code => reject(new Error(`the daemon ended with ${code}`)))
  })
  let calls = 0
  const from = (): string => `198.19.${(calls >> 8) & 255}.${++calls & 255}`

  async function answer(response: Response): Promise<Record<string, unknown>> {
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.url} answered ${response.status}: ${text}`)
    return JSON.parse(text || '{}') as Record<string, unknown>
  }
  const call: Instance['call'] = async (method, path, body, token) =>
    answer(
      await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          'x-forwarded-for': from(),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
  const token = async (name: string): Promise<string> =>
    String((await call('POST', '/auth/token', { username: name, password: BOSS.password })).access_token)
  /** What the gate refuses is told and left out: a picture of the rest is worth more than none. */
  async function upload(bytes: Buffer, distribution: string, by: string): Promise<void> {
    const form = new FormData()
    form.set('file', new Blob([new Uint8Array(bytes)]), 'package')
    form.set('distribution', distribution)
    await answer(
      await fetch(`${url}/api/v1/upload/`, {
        method: 'POST',
        body: form,
        headers: { 'authorization': `Bearer ${by}`, 'x-forwarded-for': from() },
      }),
    ).catch((error: unknown) => console.log(String(error)))
  }

  async function seedPeople(boss: string): Promise<void> {
    const people = [
      ['t.wojcik', 'uploader', 'Tomasz Wójcik'],
      ['m.okafor', 'maintainer', 'Mary Okafor'],
      ['a.lindqvist', 'auditor', 'Anna-Karin Lindqvist'],
      ['r.silva', 'reader', 'Rui Silva'],
      ['old.account', 'reader', 'Someone who left'],
    ] as const
    for (const [username, role, full_name] of people)
      await call(
        'POST',
        '/auth/users',
        { username, role, full_name, email: `${username}@nordwerk.example`, password: BOSS.password },
        boss,
      )
    await call('PATCH', '/auth/users/old.account', { active: false }, boss)
    await call('PUT', '/access/groups/plant-gothenburg', { members: ['t.wojcik', 'r.silva'] }, boss)
    await call('PUT', '/access/groups/security', { members: ['m.okafor', 'a.lindqvist'] }, boss)
    await call(
      'POST',
      '/auth/api-tokens',
      { name: 'ci-release', role: 'uploader', expires_days: 90, scopes: { upload_only: true } },
      boss,
    )
    await call('POST', '/auth/api-tokens', { name: 'nightly-report', role: 'auditor', expires_days: 10 }, boss)
  }
  async function seedPackages(boss: string): Promise<void> {
    const [tomasz, mary] = [await token('t.wojcik'), await token('m.okafor')]
    for (const text of DEBS) await upload(await deb(text), 'jammy', tomasz)
    for (const text of DEBS.slice(0, 9)) await upload(await deb(text), 'bookworm', tomasz)
    for (const text of HELD) await upload(await deb(text), 'jammy', text.startsWith('nginx') ? mary : tomasz)
    for (const text of KEPT_APART) await upload(await deb(text), 'bookworm', tomasz)
    if (clamd !== undefined) await upload(await deb('holiday-photos 1.0', { 'usr/bin/photos': EICAR }), 'jammy', tomasz)
    for (const name of ['plant-agent', 'opc-gateway', 'historian', 'line-clock'])
      await upload(
        await buildRpm({ name, version: '3.2.1', release: '1.el9', summary: `${name} for the shop floor` }),
        'almalinux9',
        tomasz,
      )
    for (const name of ['plant-agent', 'edge-cache', 'mqtt-relay'])
      await upload(await buildApk({ name, version: '3.2.1-r0' }), 'alpine3.20', tomasz)
    await upload(await buildApk({ name: 'busybox-extra', version: '1.36.1-r29' }), 'alpine3.20', tomasz)
    await call(
      'POST',
      '/security/packages/nginx/1.24.0-4/decide',
      {
        decision: 'upgrade_required',
        justification: 'The fixed version 1.24.0-5 is in the archive since Tuesday; nothing here needs the old one.',
      },
      boss,
    )
    await upload(await deb('plant-web 1.4.0'), 'jammy', mary)
    await call('DELETE', '/artifacts/nano/7.2-1?distribution=bookworm&arch=amd64', undefined, mary)
    await call(
      'POST',
      '/distributions/jammy/pins',
      { name: 'plant-agent', version: '3.1.0', reason: 'Line 4 cannot be updated before the summer stop.' },
      mary,
    )
    await seedTree(boss)
  }
  /** What a tree carries beside packages, and the key of a developer. */
  async function seedTree(boss: string): Promise<void> {
    const put = async (codename: string, kind: string, text: string): Promise<void> => {
      await answer(
        await fetch(`${url}/api/v1/distributions/${codename}/documents/${kind}`, {
          method: 'PUT',
          headers: { 'authorization': `Bearer ${boss}`, 'content-type': 'application/octet-stream' },
          body: text,
        }),
      )
    }
    const entry = (name: string): string =>
      `Package: ${name}\nDescription-md5: 0123456789abcdef0123456789abcdef\nDescription-de: Für die Werkhalle\n`
    await put('jammy', 'translation?component=main&name=de', ['curl', 'git', 'vim'].map(entry).join('\n'))
    await put('jammy', 'appstream?component=main&arch=amd64', 'File: DEP-11\nVersion: "1.0"\n')
    await put('almalinux9', 'group?arch=x86_64', '<comps><group><id>core</id></group></comps>')
    await call('PATCH', '/distributions/jammy/release', { not_automatic: true, valid_days: 14 }, boss)
    const { publicKey: public_key } = await generateKey({ userIDs: [{ name: 'Ada', email: 'ada@nordwerk.example' }] })
    await call('POST', '/uploader-keys', { name: 'ada', public_key, distributions: ['jammy'] }, boss)
    await call('POST', '/image-keys', { name: 'release team', public_key: createSigner().pem }, boss)
  }

  return {
    url,
    call,
    token,
    seed: async () => {
      const boss = await token(BOSS.name)
      await seedPeople(boss)
      await seedPackages(boss)
      await appendFile(join(folder, 'repos', 'logs', 'trees-plant.log'), accessLog())
    },
    pause: () => {
      child.kill('SIGSTOP')
    },
    resume: () => {
      child.kill('SIGCONT')
    },
    stop: async () => {
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      await ended
      await clamd?.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
