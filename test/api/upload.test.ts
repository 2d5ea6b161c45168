import { createHash, randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { send } from '../support/app.ts'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { startDaemon, type Answer, type Daemon } from '../support/daemon.ts'
import { buildDeb, EICAR, type DebSpec } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

type Event = Readonly<Record<string, unknown>>

const NOWHERE = '/nonexistent/clamd.sock'
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')

async function begin(
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<{ readonly daemon: Daemon; readonly token: string }> {
  const daemon = await startDaemon({ env })
  const token = await daemon.setupAdmin()
  const made = await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  expect(made, made.text).toMatchObject({ status: 200 })
  return { daemon, token }
}

function formOf(
  content: Buffer,
  fields: Readonly<Record<string, string>> = { distribution: 'jammy' },
  filename = 'package.deb',
): FormData {
  const form = new FormData()
  for (const [key, value] of Object.entries(fields)) form.set(key, value)
  form.set('file', new Blob([new Uint8Array(content)]), filename)
  return form
}

/** The `data:` lines of an event stream before its last line. */
const eventsOf = (text: string): Event[] =>
  [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Event)

async function metric(daemon: Daemon, line: string): Promise<number> {
  const { text } = await daemon.call('GET', '/metrics')
  const found = text.split('\n').find(candidate => candidate.startsWith(`${line} `))
  return Number(found?.slice(line.length + 1) ?? 0)
}

/**
 * Asks for a package in every place where its bytes lie or could be served from; all of it has to be 404, and no index
 * may name it.
 */
async function expectNotServed(
  daemon: Daemon,
  { name, sha256: digest }: { readonly name: string; readonly sha256: string },
): Promise<void> {
  const { packages, problems } = await readServedTree(daemon.url, 'jammy')
  expect(problems).toEqual([])
  expect(packages.map(({ Package }) => Package)).not.toContain(name)
  expect(packages.map(({ SHA256 }) => SHA256)).not.toContain(digest)
  const blob = `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`
  for (const path of [
    `/repos/pool/jammy/main/${name.slice(0, 1)}/${name}/${name}_1_amd64.deb`,
    `/repos/pool/${blob}`,
    `/repos/quarantine/${digest}`,
    `/repos/../pool/${blob}`,
    `/repos/..%2fquarantine%2f${digest}`,
    `/repos/%2e%2e/quarantine/${digest}`,
    `/repos/apt/pool/${blob}`,
  ]) {
    // sent as written: fetch would resolve the dots itself
    const answer = await send(Number(new URL(daemon.url).port), { method: 'GET', path })
    expect({ path, refused: [400, 404].includes(answer.status), status: answer.status }).toMatchObject({
      path,
      refused: true,
    })
    expect(answer.text).not.toContain('!<arch>')
  }
}

describe('an upload over HTTP', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    ;({ daemon, token } = await begin())
  })
  afterAll(() => daemon.close())
  const post = (
    form: FormData,
    route = '/upload/',
    more: { readonly ip?: string; readonly headers?: Record<string, string> } = {},
  ): Promise<Answer> => daemon.call('POST', route, { token, form, ...more })

  test('that passes answers 201 with both forms of the result, and a client finds exactly those bytes', async () => {
    const content = await buildDeb({ name: 'whole', version: '1:2.0-1' })
    const answer = await post(formOf(content))
    expect(answer, answer.text).toMatchObject({
      status: 201,
      body: {
        name: 'whole',
        package: 'whole',
        version: '1:2.0-1',
        arch: 'amd64',
        distribution: 'jammy',
        format: 'deb',
        status: 'published',
        sha256: sha256(content),
        // neither clamd nor vulnerability data is here: that is said, and is not a pass
        pipeline: {
          antivirus: 'unavailable',
          cve_scan: 'no_data',
          gpg: expect.any(String) as string,
          dependencies: expect.any(String) as string,
        },
        filename: 'package.deb',
        validation: { passed: true, cve_status: 'approved', deps_missing: [] },
      },
    })
    const { steps } = answer.body.validation as { steps: Record<string, unknown>[] }
    expect(steps.map(({ name }) => name)).toEqual([
      'format',
      'provenance',
      'antivirus',
      'vulnerabilities',
      'signature',
      'dependencies',
    ])
    for (const step of steps) {
      const { passed, message, detail, warning } = step
      expect([passed, message, detail, warning].map(value => typeof value)).toEqual([
        'boolean',
        'string',
        'string',
        'boolean',
      ])
    }
    const { packages, problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([])
    expect(packages.filter(({ Package }) => Package === 'whole')).toMatchObject([
      { Version: '1:2.0-1', SHA256: sha256(content) },
    ])
  })

  test('of the same bytes again answers 200 already_imported, under any file name and over both routes', async () => {
    const content = await buildDeb({ name: 'again', version: '1' })
    expect((await post(formOf(content))).status).toBe(201)
    expect(await post(formOf(content, undefined, 'other.deb'))).toMatchObject({
      status: 200,
      body: { status: 'already_imported', name: 'again', sha256: sha256(content) },
    })
    expect(eventsOf((await post(formOf(content), '/upload/stream')).text).at(-1)).toMatchObject({
      status: 'already_imported',
    })
  })

  test('of one version with other bytes is 409 and names both; what is served stays', async () => {
    const first = await buildDeb({ name: 'torn', version: '1', files: { 'usr/share/torn': 'one' } })
    const second = await buildDeb({ name: 'torn', version: '1', files: { 'usr/share/torn': 'two' } })
    await post(formOf(first))
    const refused = await post(formOf(second))
    expect(refused).toMatchObject({
      status: 409,
      body: {
        detail: {
          error: 'duplicate_conflict',
          message: expect.stringContaining('torn') as string,
          incoming_sha256: sha256(second),
          existing_sha256: sha256(first),
        },
      },
    })
    const { packages } = await readServedTree(daemon.url, 'jammy')
    expect(packages.filter(({ Package }) => Package === 'torn')).toMatchObject([{ SHA256: sha256(first) }])
  })

  test('over /upload/stream tells of scripts where a package has any', async () => {
    const scripts = { postinst: '#!/bin/sh\nsystemctl restart ssh\n' }
    const answer = await post(formOf(await buildDeb({ name: 'scripted', version: '1', scripts })), '/upload/stream')
    const events = eventsOf(answer.text)
    const steps = [
      ...['format', 'provenance', 'antivirus', 'vulnerabilities'],
      ...['scripts', 'signature', 'dependencies', 'publish'],
    ]
    expect(events.filter(({ status }) => status === 'running').map(({ step }) => step)).toEqual(steps)
    expect(
      events.filter(({ step, status }) => step !== undefined && status !== 'running').map(({ step }) => step),
    ).toEqual(steps)
  })

  test('over /upload/stream tells every step as it runs, then the publication, then what /upload/ would have answered', async () => {
    const answer = await post(formOf(await buildDeb({ name: 'streamed', version: '1' })), '/upload/stream')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const events = eventsOf(answer.text)
    const steps = ['format', 'provenance', 'antivirus', 'vulnerabilities', 'signature', 'dependencies', 'publish']
    expect(events.filter(({ status }) => status === 'running').map(({ step }) => step)).toEqual(steps)
    expect(
      events.filter(({ step, status }) => step !== undefined && status !== 'running').map(({ step }) => step),
    ).toEqual(steps)
    expect(events.at(-1)).toMatchObject({
      status: 'published',
      result: { name: 'streamed', status: 'published', validation: { passed: true } },
    })
    expect((await readServedTree(daemon.url, 'jammy')).packages.map(({ Package }) => Package)).toContain('streamed')
  })

  const refusals: readonly (readonly [string, DebSpec | Buffer, Record<string, string>, number, RegExp])[] = [
    [
      'into a distribution of another format',
      { name: 'refused', version: '1' },
      { distribution: 'almalinux9' },
      422,
      /takes RPM/i,
    ],
    [
      'into a distribution that is not there',
      { name: 'refused', version: '1' },
      { distribution: 'nowhere' },
      422,
      /nowhere/,
    ],
    ['without a distribution', { name: 'refused', version: '1' }, {}, 422, /distribution/],
    [
      'with a digest of other bytes',
      { name: 'refused', version: '1' },
      { distribution: 'jammy', sha256: 'a'.repeat(64) },
      422,
      /SHA-256/,
    ],
    [
      'with a digest that is none',
      { name: 'refused', version: '1' },
      { distribution: 'jammy', sha256: 'zz' },
      400,
      /SHA-256/,
    ],
    ['of something that is no package', Buffer.from('hello'), { distribution: 'jammy' }, 422, /no package/],
    ['of an empty file', Buffer.alloc(0), { distribution: 'jammy' }, 422, /no package/],
  ]
  test.each(refusals)('%s is refused, and nothing of it is kept', async (_, what, fields, status, why) => {
    const before = (await readdir(join(daemon.root, 'pool'), { recursive: true })).length
    const content = Buffer.isBuffer(what) ? what : await buildDeb({ ...what, files: { 'usr/share/r': randomBytes(8) } })
    for (const route of ['/upload/', '/upload/stream']) {
      const answer = await post(formOf(content, fields), route)
      const last = answer.status === 200 ? eventsOf(answer.text).at(-1) : answer.body
      // the stream has begun when the gate refuses: then the refusal is its last event
      if (route === '/upload/') expect(answer, answer.text).toMatchObject({ status })
      expect(JSON.stringify(last)).toMatch(why)
    }
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
    expect((await readdir(join(daemon.root, 'pool'), { recursive: true })).length).toBe(before)
  })

  test('needs a role that may upload', async () => {
    const form = formOf(await buildDeb({ name: 'refused', version: '1' }))
    expect(await daemon.call('POST', '/upload/', { form })).toMatchObject({ status: 401 })
    const made = await daemon.call('POST', '/auth/users', {
      token,
      body: { username: 'reader1', password: 'Reader-horse-91', role: 'reader' },
    })
    expect(made, made.text).toMatchObject({ status: 201 })
    const login = await daemon.call<{ access_token: string }>('POST', '/auth/token', {
      body: { username: 'reader1', password: 'Reader-horse-91' },
    })
    expect(await daemon.call('POST', '/upload/', { form, token: login.body.access_token })).toMatchObject({
      status: 403,
    })
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
  })

  test('over the limit is 413 and names the limit, which can be changed while the daemon runs', async () => {
    expect(
      await daemon.call('PATCH', '/settings/', { token, body: { validation: { max_upload_size_mb: 1 } } }),
    ).toMatchObject({ status: 200 })
    const large = await buildDeb({
      name: 'large',
      version: '1',
      files: { 'usr/share/large': randomBytes(1_500_000) },
      compression: 'none',
    })
    for (const route of ['/upload/', '/upload/stream']) {
      expect(await post(formOf(large), route)).toMatchObject({
        status: 413,
        body: { detail: expect.stringContaining('1 MB') as string },
      })
    }
    // without a length said beforehand it is the counted bytes that decide
    const boundary = 'gatehouse-boundary'
    const chunked = await fetch(`${daemon.url}/api/v1/upload/`, {
      method: 'POST',
      duplex: 'half',
      headers: { 'Authorization': `Bearer ${token}`, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
      body: new ReadableStream<Uint8Array>({
        start(stream) {
          stream.enqueue(
            Buffer.from(
              `--${boundary}\r\nContent-Disposition: form-data; name="distribution"\r\n\r\njammy\r\n--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="l.deb"\r\n\r\n`,
            ),
          )
          for (let at = 0; at < large.length; at += 65_536) stream.enqueue(large.subarray(at, at + 65_536))
          stream.enqueue(Buffer.from(`\r\n--${boundary}--\r\n`))
          stream.close()
        },
      }),
    } as RequestInit)
    expect({ status: chunked.status, body: (await chunked.json()) as unknown }).toMatchObject({ status: 413 })
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
    await daemon.call('PATCH', '/settings/', { token, body: { validation: { max_upload_size_mb: 500 } } })
    expect(await post(formOf(large))).toMatchObject({ status: 201 })
  })

  test('is counted by client address: the 21st of a minute is 429 with Retry-After, from another address it passes', async () => {
    const ip = '198.51.100.7'
    const content = await buildDeb({ name: 'counted', version: '1' })
    const answers: Answer[] = []
    for (let number = 0; number < 21; number++)
      answers.push(await post(formOf(content), number % 2 === 0 ? '/upload/' : '/upload/stream', { ip }))
    expect(answers.slice(0, 20).map(({ status }) => status)).not.toContain(429)
    expect(answers[20]).toMatchObject({
      status: 429,
      body: {
        detail: {
          error: 'rate_limit_exceeded',
          message: expect.any(String) as string,
          limit: 20,
          retry_after: expect.any(Number) as number,
        },
      },
    })
    expect(Number(answers[20]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Number(answers[20]?.headers.get('retry-after'))).toBeLessThanOrEqual(61)
    expect((await post(formOf(content))).status).toBe(200)
    // what a client writes into the header itself is not its address: the one that the proxy added counts
    expect(await post(formOf(content), '/upload/', { ip: `203.0.113.9, ${ip}` })).toMatchObject({ status: 429 })
  })

  test('no answer, no log and no metric holds a secret of the settings', async () => {
    const secret = `Very-${randomBytes(12).toString('hex')}`
    const patched = await daemon.call('PATCH', '/settings/', {
      token,
      body: { email: { smtp_password: secret }, ldap: { bind_password: secret } },
    })
    expect(patched, patched.text).toMatchObject({ status: 200 })
    for (const path of [
      '/settings/',
      '/settings/schema',
      '/settings/gpg',
      '/artifacts/audit/logs',
      '/health',
      '/metrics',
      '/dashboard/summary',
    ]) {
      const answer = await daemon.call('GET', path, { token })
      expect({ path, status: answer.status }).toEqual({ path, status: 200 })
      expect(answer.text).not.toContain(secret)
    }
    expect(patched.text).not.toContain(secret)
    expect((await daemon.call('GET', '/settings/', { token })).text).toContain('***')
    expect(daemon.log()).not.toContain(secret)
  })

  test('is in the metrics, the health report, the dashboard and the audit log with its result', async () => {
    const taken = await metric(daemon, 'svc_uploads_total{status="published"}')
    const known = await metric(daemon, 'svc_uploads_total{status="already_imported"}')
    const content = await buildDeb({ name: 'measured', version: '1' })
    await post(formOf(content))
    await post(formOf(content))
    expect(await metric(daemon, 'svc_uploads_total{status="published"}')).toBe(taken + 1)
    expect(await metric(daemon, 'svc_uploads_total{status="already_imported"}')).toBe(known + 1)
    const served = (await readServedTree(daemon.url, 'jammy')).packages.length
    await expect.poll(() => metric(daemon, 'svc_packages_total')).toBe(served)
    await expect
      .poll(async () => {
        const { body } = await daemon.call<{ items: { action: string; result: string; user: string }[] }>(
          'GET',
          '/artifacts/audit/logs?package=measured',
          { token },
        )
        return body.items.map(({ action, result, user }) => `${action} ${result} ${user}`)
      })
      .toEqual(['UPLOAD SUCCESS admin'])
    expect(await daemon.call('GET', '/artifacts/audit/integrity', { token })).toMatchObject({
      status: 200,
      body: { ok: true },
    })
    // clamd is missing and outside production that only degrades; everything critical is well
    expect((await daemon.call('GET', '/health')).body).toMatchObject({
      status: 'degraded',
      checks: { critical: { pool: { ok: true }, manifest_db: { ok: true } }, non_critical: { clamav: { ok: false } } },
    })
    expect(await daemon.call('GET', '/health/ready')).toMatchObject({ status: 200, body: { ready: true } })
  })

  test('into a distribution that is rolled back says that no index names it yet, until the distribution goes forward', async () => {
    interface Kept {
      readonly generations: readonly { readonly n: number }[]
    }
    const named = async (name: string): Promise<boolean> =>
      (await readServedTree(daemon.url, 'jammy')).packages.some(({ Package }) => Package === name)
    expect(
      (await daemon.upload(await buildDeb({ name: 'before-rollback', version: '1' }), { token })).body,
    ).not.toHaveProperty('indexed')
    const {
      body: { generations: kept },
    } = await daemon.call<Kept & Record<string, unknown>>('GET', '/distributions/jammy/generations', { token })
    const [newest = 0, earlier = 0] = kept.map(({ n }) => n).sort((a, b) => b - a)
    const back = await daemon.call('POST', '/distributions/jammy/rollback', { token, body: { generation: earlier } })
    expect(back, back.text).toMatchObject({ status: 200 })
    const late = await daemon.upload(await buildDeb({ name: 'while-back', version: '1' }), { token })
    expect(late).toMatchObject({ status: 201, body: { status: 'published', indexed: false } })
    expect(await named('while-back')).toBe(false)
    const forward = await daemon.call('POST', '/distributions/jammy/rollback', { token, body: { generation: newest } })
    expect(forward, forward.text).toMatchObject({ status: 200 })
    expect([await named('before-rollback'), await named('while-back')]).toEqual([true, true])
  })

  test.each([
    ['SIGTERM comes', 'stop'],
    ['Ctrl-C is pressed', 'ctrlC'],
  ] as const)('that is under way when %s is answered, published, and the exit code is 0', async (_, end) => {
    const answers = Promise.all(
      Array.from({ length: 4 }, async (_, number) => {
        const content = await buildDeb({
          name: `leaving-${end.toLowerCase()}-${number}`,
          version: '1',
          files: { 'usr/share/l': randomBytes(2_000_000) },
        })
        return daemon.upload(content, { token }).catch(() => undefined)
      }),
    )
    await expect
      .poll(async () => (await readdir(join(daemon.root, 'incoming'))).length, { interval: 2 })
      .toBeGreaterThan(0)
    expect(await daemon[end]()).toBe(0)
    const given = (await answers).filter(answer => answer !== undefined)
    expect(given.filter(({ status }) => status !== 201)).toEqual([])
    const told = given.map(({ body }) => body.name)
    expect(told.length).toBeGreaterThan(0)
    await daemon.restart()
    const { packages, problems } = await readServedTree(daemon.url, 'jammy')
    expect(problems).toEqual([])
    expect(packages.map(({ Package }) => Package)).toEqual(expect.arrayContaining(told))
    expect(await readdir(join(daemon.root, 'incoming'))).toEqual([])
  })
})

describe.skipIf(!hasClamd)('with clamd (needs clamav-daemon)', () => {
  let clamd: TestClamd
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    clamd = await startClamd()
    ;({ daemon, token } = await begin({ CLAMD_SOCKET: clamd.address.socket }))
  })
  afterAll(async () => {
    await daemon.close()
    await clamd.close()
  })

  const infected: readonly (readonly [string, DebSpec])[] = [
    ...(['gz', 'xz', 'zst', 'none'] as const).map(
      compression =>
        [
          `data.tar, ${compression}`,
          { name: `bad-${compression}`, version: '1', files: { 'usr/bin/bad': EICAR }, compression },
        ] as const,
    ),
    ['postinst', { name: 'bad-script', version: '1', scripts: { postinst: `#!/bin/sh\n# ${EICAR}\n` } }],
    [
      'data.tar behind an innocent file',
      {
        name: 'bad-late',
        version: '1',
        files: { 'a/first': randomBytes(100_000), 'z/last': EICAR },
        compression: 'xz',
      },
    ],
  ]
  test.each(infected)(
    'EICAR in %s: 200 with the body of an upload, quarantined, and served nowhere',
    async (_, spec) => {
      const quarantined = await metric(daemon, 'svc_uploads_total{status="quarantined"}')
      const answer = await daemon.upload(await buildDeb(spec), { token })
      expect(answer, answer.text).toMatchObject({
        status: 200,
        body: {
          name: spec.name,
          status: 'quarantined',
          pipeline: { antivirus: 'infected' },
          validation: { passed: false, steps: expect.any(Array) as unknown[] },
        },
      })
      await expectNotServed(daemon, { name: spec.name, sha256: answer.body.sha256 })
      expect(await metric(daemon, 'svc_uploads_total{status="quarantined"}')).toBe(quarantined + 1)
    },
  )

  test('a package without malware is published', async () => {
    const answer = await daemon.upload(await buildDeb({ name: 'good', version: '1' }), { token })
    expect(answer, answer.text).toMatchObject({
      status: 201,
      body: { status: 'published', pipeline: { antivirus: 'clean' } },
    })
    expect(await daemon.call('GET', '/repos/pool/jammy/main/g/good/good_1_amd64.deb')).toMatchObject({ status: 200 })
    await expect.poll(() => metric(daemon, 'svc_quarantine_total')).toBe(infected.length)
    await expect.poll(() => metric(daemon, 'svc_packages_total')).toBe(1)
    expect((await daemon.call('GET', '/health')).body).toMatchObject({
      checks: { non_critical: { clamav: { ok: true } } },
    })
  })

  test('the stream ends with the same answer', async () => {
    const events = eventsOf(
      (
        await daemon.call('POST', '/upload/stream', {
          token,
          form: formOf(await buildDeb({ name: 'bad-stream', version: '1', files: { x: EICAR } })),
        })
      ).text,
    )
    expect(events).toContainEqual(expect.objectContaining({ name: 'antivirus', status: 'error', outcome: 'failed' }))
    expect(events.at(-1)).toMatchObject({
      status: 'quarantined',
      result: { name: 'bad-stream', status: 'quarantined' },
    })
  })
})

describe('production without an antivirus engine', () => {
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    const secret = (): string => randomBytes(32).toString('hex')
    ;({ daemon, token } = await begin({
      ENV: 'production',
      JWT_SECRET_KEY: secret(),
      WEBHOOK_SECRET: secret(),
      LICENSE_VENDOR_SECRET: secret(),
      CLAMD_SOCKET: NOWHERE,
    }))
  })
  afterAll(() => daemon.close())

  test('a package is held for review: 201 pending_review, served nowhere, also after a restart', async () => {
    const answer = await daemon.upload(await buildDeb({ name: 'held', version: '1' }), { token })
    expect(answer, answer.text).toMatchObject({
      status: 201,
      body: {
        name: 'held',
        status: 'pending_review',
        pipeline: { antivirus: 'unavailable' },
        validation: { cve_status: 'pending_review' },
      },
    })
    await expectNotServed(daemon, { name: 'held', sha256: answer.body.sha256 })
    await expect.poll(() => metric(daemon, 'svc_pending_review_total')).toBe(1)
    expect(await daemon.stop()).toBe(0)
    await daemon.restart()
    await expectNotServed(daemon, { name: 'held', sha256: answer.body.sha256 })
  })

  test('EICAR is not published either, and the documentation is closed', async () => {
    const answer = await daemon.upload(
      await buildDeb({ name: 'unseen', version: '1', files: { 'usr/bin/x': EICAR } }),
      { token },
    )
    expect(answer, answer.text).toMatchObject({ status: 201, body: { status: 'pending_review' } })
    await expectNotServed(daemon, { name: 'unseen', sha256: answer.body.sha256 })
    expect(await daemon.call('GET', '/docs')).toMatchObject({ status: 404 })
  })
})
