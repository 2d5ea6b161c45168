import { createHash, randomFillSync, type Hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { request } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../support/clamd.ts'
import { nextAddress, startDaemon, type Daemon } from '../support/daemon.ts'
import { ar, buildDeb, debParts, tarEntry } from '../support/packages.ts'
import { readServedTree } from '../support/tree.ts'

const MB = 1024 * 1024
const BODY = 490 * MB // with everything around it still below the default of 500 MB
const BOUNDARY = 'gatehouse-large-file'

function noise(): Buffer {
  return randomFillSync(Buffer.allocUnsafe(MB))
}

/** An ar header for a member whose body is made elsewhere. */
function memberHeader(name: string, size: number): Buffer {
  return ar([{ name, body: '', size: String(size) }]).subarray(8)
}

/**
 * A valid .deb with one large file that nothing compresses, made while it is read: at most 1 MB of it exists at a time.
 */
function* largeDeb(hash: Hash): Generator<Buffer> {
  const { control } = debParts({ name: 'large', version: '1' })
  const folders = ['./', './usr/', './usr/share/'].map(name => tarEntry({ name, type: '5' }))
  const entry = tarEntry({ name: './usr/share/large', size: BODY }) // no body here: it follows
  const data = folders.reduce((sum, { length }) => sum + length, entry.length) + BODY + 1024
  const chunk = noise()
  const parts = function* (): Generator<Buffer> {
    yield ar([
      { name: 'debian-binary', body: '2.0\n' },
      { name: 'control.tar', body: control },
    ])
    yield memberHeader('data.tar', data)
    yield* folders
    yield entry
    for (let sent = 0; sent < BODY; sent += MB) {
      chunk.writeUInt32LE(sent, 0)
      yield Buffer.from(chunk)
    }
    yield Buffer.alloc(1024)
  }
  for (const part of parts()) {
    hash.update(part)
    yield part
  }
}

function* largeForm(hash: Hash): Generator<Buffer> {
  yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="distribution"\r\n\r\njammy\r\n`)
  yield Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="large.deb"\r\n\r\n`)
  yield* largeDeb(hash)
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
}

/** The most the process ever held, in bytes (proc(5), VmHWM). */
async function peak(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1024
}

async function uploadLarge(
  daemon: Daemon,
  token: string,
  hash: Hash,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const req = request(`${daemon.url}/api/v1/upload/`, {
    method: 'POST',
    headers: {
      'Authorization': `Bearer ${token}`,
      'Content-Type': `multipart/form-data; boundary=${BOUNDARY}`,
      'X-Forwarded-For': nextAddress(),
    },
  })
  const answered = new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    req.once('error', reject)
    req.once('response', res => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.once('error', reject)
      res.once('end', () => resolve({ status: res.statusCode, text: Buffer.concat(chunks).toString() }))
    })
  })
  await pipeline(Readable.from(largeForm(hash)), req)
  return answered
}

describe.skipIf(process.platform !== 'linux')('an upload of 490 MB (needs /proc)', () => {
  let clamd: TestClamd | undefined
  let daemon: Daemon
  let token: string
  beforeAll(async () => {
    if (hasClamd) clamd = await startClamd()
    daemon = await startDaemon({ env: { CLAMD_SOCKET: clamd?.address.socket } })
    token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
  })
  afterAll(async () => {
    await daemon.close()
    await clamd?.close()
  })

  test('leaves the daemon below 300 MB, and others are answered meanwhile', async () => {
    const hash = createHash('sha256')
    let isDone = false
    const uploading = uploadLarge(daemon, token, hash).finally(() => {
      isDone = true
    })
    const others: number[] = []
    while (!isDone) {
      // a moment between them, as people are: the upload is what is measured
      await new Promise(resolve => setTimeout(resolve, 20))
      others.push((await daemon.call('GET', '/health/live')).status)
      others.push((await daemon.call('GET', '/packages/', { token })).status)
    }
    const answer = await uploading
    expect(answer).toMatchObject({ status: 201 })
    const sha256 = hash.digest('hex')
    expect(JSON.parse(answer.text)).toMatchObject({
      name: 'large',
      status: 'published',
      sha256,
      pipeline: { antivirus: hasClamd ? 'clean' : 'unavailable' },
    })
    expect(others.length).toBeGreaterThan(4)
    expect(new Set(others)).toEqual(new Set([200]))
    expect((await peak(daemon.pid)) / MB).toBeLessThan(300)

    // and once more on the way out
    const { packages, problems } = await readServedTree(daemon.url, 'jammy', { bodies: false })
    expect(problems).toEqual([])
    expect(packages).toMatchObject([{ Package: 'large', SHA256: sha256 }])
    const served = createHash('sha256')
    const download = await fetch(`${daemon.url}/repos/${packages[0]?.Filename ?? ''}`)
    for await (const chunk of download.body ?? []) served.update(chunk)
    expect(served.digest('hex')).toBe(sha256)
    const bytes = await peak(daemon.pid)
    expect(bytes / MB).toBeLessThan(300)
    process.stdout.write(
      `490 MB in and out: at most ${Math.round(bytes / MB)} MB in the daemon, ${others.length} other requests answered\n`,
    )
  }, 300_000)
})

describe.skipIf(process.platform !== 'linux')('sixty small uploads, six at once (needs /proc)', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon.close())

  test('leave the daemon below 300 MB with every publication', async () => {
    const token = await daemon.setupAdmin()
    await daemon.call('POST', '/distributions/init', { token, body: { codename: 'jammy' } })
    const numbers = Array.from({ length: 60 }).keys()
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        for (const n of numbers)
          expect(await daemon.upload(await buildDeb({ name: `small-${n}`, version: '1' }), { token })).toMatchObject({
            status: 201,
          })
      }),
    )
    const bytes = await peak(daemon.pid)
    process.stdout.write(`60 uploads: at most ${Math.round(bytes / MB)} MB in the daemon\n`)
    expect(bytes / MB).toBeLessThan(300)
  }, 120_000)
})
