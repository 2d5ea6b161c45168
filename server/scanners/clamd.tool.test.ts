import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasClamd, startClamd, type TestClamd } from '../../test/support/clamd.ts'
import { buildDeb, EICAR, spoolBytes, tar, type DebSpec } from '../../test/support/packages.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { deb } from '../formats/deb/index.ts'
import type { InnerStream } from '../formats/format.ts'
import { systemClock } from '../lib/clock.ts'
import { createClamd, readAnswer, readVersion } from './clamd.ts'
import { EngineUnavailable, type ScanSubject } from './scanner.ts'

const never = new AbortController().signal
const DEADLINES = { connectMs: 300, idleMs: 300, pingMs: 300, mostMs: 60_000 }

function subjectOf(inner: () => AsyncIterable<InnerStream>): ScanSubject {
  return {
    identity: { format: 'deb', name: 'a', version: '1', arch: 'amd64' },
    distribution: getDistribution('bookworm'),
    purl: '',
    about: { summary: '', description: '', source: 'a', source_version: '1', depends: [], provides: [], conflicts: [] },
    inner,
  }
}

const streams = (...parts: { readonly name: string; readonly chunks: Iterable<Buffer> }[]): ScanSubject =>
  subjectOf(async function* () {
    for (const { name, chunks } of parts)
      yield {
        name,
        open: async function* () {
          yield* chunks
        },
      }
  })

function* zeros(megabytes: number): Generator<Buffer> {
  const block = Buffer.alloc(1 << 20)
  for (let i = 0; i < megabytes; i++) yield block
}

describe('a clamd that has no signatures yet', () => {
  const clamd = (isWithout: boolean) =>
    createClamd({
      address: { socket: '/nowhere/clamd.ctl' },
      clock: systemClock,
      deadlines: DEADLINES,
      isWithoutSignatures: () => Promise.resolve(isWithout),
    })

  test('is told from one that does not run, with where they come from', async () => {
    expect(await clamd(true).status()).toMatchObject({
      ok: false,
      silence: 'no_signatures',
      error: expect.stringMatching(/has no signatures of malware yet, and does not start.*They come by freshclam/),
    })
    expect(await clamd(false).status()).toMatchObject({ ok: false, silence: 'no_answer' })
  })

  test('says so of what it cannot scan', async () => {
    const subject = streams({ name: 'data.tar', chunks: [Buffer.from('x')] })
    await expect(clamd(true).scan(subject, never)).rejects.toThrow('it has no signatures of malware yet')
    await expect(clamd(false).scan(subject, never)).rejects.toThrow('it does not exist')
  })
})

describe('what clamd says', () => {
  test.each([
    ['stream: OK', { kind: 'clean' }],
    ['stream: Eicar-Test-Signature FOUND', { kind: 'infected', signature: 'Eicar-Test-Signature', where: 'data.tar' }],
    [
      'stream: Win.Test.EICAR_HDB-1(44d88612fea8a8f36de82e1278abb02f:68) FOUND',
      { kind: 'infected', signature: 'Win.Test.EICAR_HDB-1(44d88612fea8a8f36de82e1278abb02f:68)', where: 'data.tar' },
    ],
    [
      'stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND',
      {
        kind: 'unscannable',
        where: 'data.tar',
        why: 'it exceeds the MaxFileSize of clamd, so the rest was not scanned',
      },
    ],
    [
      'stream: Heuristics.Limits.Exceeded FOUND',
      { kind: 'unscannable', where: 'data.tar', why: 'it exceeds the limits of clamd, so the rest was not scanned' },
    ],
    [
      'stream: Heuristics.Encrypted.Zip FOUND',
      { kind: 'unscannable', where: 'data.tar', why: 'a part of it is encrypted (Heuristics.Encrypted.Zip)' },
    ],
    [
      'INSTREAM size limit exceeded. ERROR',
      { kind: 'unscannable', where: 'data.tar', why: 'it is larger than the StreamMaxLength of clamd' },
    ],
  ])('%s', (text, answer) => expect(readAnswer(text, 'data.tar')).toEqual(answer))

  test.each([
    '',
    'OK',
    'stream: ok',
    'stream: OK ',
    ' stream: OK',
    'stream: OKAY',
    'stream: OK\nstream: X FOUND',
    'stream:  FOUND',
    'FOUND',
    'stream: a b FOUND',
    "stream: Can't allocate memory ERROR",
    'stream: Time limit reached ERROR',
    'UNKNOWN COMMAND',
    'COMMAND READ TIMED OUT',
    '1: stream: OK',
    'PONG',
    '{"ok":true}',
    'HTTP/1.1 400 Bad Request\r\n',
  ])('%j is no answer, so never clean', text => expect(() => readAnswer(text, 'data.tar')).toThrow(EngineUnavailable))

  test.each([
    ['ClamAV 1.4.6', { version: '1.4.6' }],
    [
      'ClamAV 1.4.6/27777/Mon Nov 16 08:25:13 2026',
      {
        version: '1.4.6',
        signatures_version: '27777',
        signatures_at: new Date('Mon Nov 16 08:25:13 2026').toISOString(),
      },
    ],
    ['ClamAV 1.4.6/27777/whenever', { version: '1.4.6', signatures_version: '27777' }],
    ['ClamAV 0.103.8/0/', undefined],
    ['SomethingElse 1', undefined],
  ])('%s', (text, version) => expect(readVersion(text)).toEqual(version))
})

describe.skipIf(!hasClamd)('a real clamd', () => {
  let clamd: TestClamd
  let folder: string
  beforeAll(async () => {
    clamd = await startClamd()
    folder = await mkdtemp(join(tmpdir(), 'debs-'))
  })
  afterAll(async () => {
    await clamd.close()
    await rm(folder, { recursive: true, force: true })
  })
  const scanner = () => createClamd({ address: clamd.address, clock: systemClock })

  async function scanDeb(spec: Partial<DebSpec>) {
    const file = await spoolBytes(folder, 'a.deb', await buildDeb({ name: 'a', version: '1', ...spec }))
    return scanner().scan(
      subjectOf(() => deb.inner(file)),
      never,
    )
  }

  test.each(['none', 'gz', 'xz', 'zst'] as const)(
    'finds EICAR as a file of a data.tar packed with %s',
    async compression => {
      expect(
        await scanDeb({ compression, files: { 'usr/bin/a': 'fine', 'usr/share/eicar.com': EICAR } }),
      ).toMatchObject({ kind: 'infected', signature: expect.stringContaining('Eicar') as string, where: 'data.tar' })
      expect(await scanDeb({ compression, files: { 'usr/bin/a': 'fine' } })).toEqual({ kind: 'clean' })
    },
  )

  test.each(['none', 'gz', 'xz', 'zst'] as const)(
    'finds EICAR in a maintainer script of a control.tar packed with %s',
    async controlCompression => {
      expect(
        await scanDeb({ controlCompression, scripts: { postinst: `#!/bin/sh\necho '${EICAR}'\n` } }),
      ).toMatchObject({ kind: 'infected', where: 'control.tar' })
      expect(await scanDeb({ controlCompression, scripts: { postinst: '#!/bin/sh\nexit 0\n' } })).toEqual({
        kind: 'clean',
      })
    },
  )

  test('finds EICAR in an archive within an archive of the payload', async () => {
    const nested = gzipSync(tar([{ name: 'inner.tar.gz', body: gzipSync(tar([{ name: 'eicar.com', body: EICAR }])) }]))
    expect(await scanDeb({ files: { 'usr/share/a.tar.gz': nested } })).toMatchObject({
      kind: 'infected',
      where: 'data.tar',
    })
  })

  test('finds EICAR at the end of 60 MB that come in chunks of every size', async () => {
    const chunks = [...zeros(60), Buffer.alloc(0), randomBytes(1), randomBytes(3 << 20), Buffer.from(EICAR)]
    expect(await scanner().scan(streams({ name: 'data.tar', chunks }), never)).toMatchObject({
      kind: 'infected',
      where: 'data.tar',
    })
  })

  test('answers for 30 MB and for an empty stream', async () => {
    expect(
      await scanner().scan(streams({ name: 'data.tar', chunks: zeros(30) }, { name: 'empty', chunks: [] }), never),
    ).toEqual({ kind: 'clean' })
  })

  test('says which version it is', async () => {
    expect(await scanner().status()).toEqual({
      id: 'clamav',
      ok: true,
      version: expect.stringMatching(/^\d+\.\d+/) as string,
    })
  })

  test('is given forty packages at once and mixes none up', async () => {
    const engine = scanner()
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        engine.scan(
          streams({ name: 'data.tar', chunks: [randomBytes(50_000), ...(i % 3 === 0 ? [Buffer.from(EICAR)] : [])] }),
          never,
        ),
      ),
    )
    expect(answers.map(({ kind }) => kind)).toEqual(answers.map((_, i) => (i % 3 === 0 ? 'infected' : 'clean')))
  })

  test('a package without anything inside is not clean', async () => {
    expect(await scanner().scan(streams(), never)).toMatchObject({ kind: 'unscannable' })
  })

  test('a refusal of the package while it is unpacked comes through as it is', async () => {
    const broken = subjectOf(async function* () {
      yield {
        name: 'data.tar',
        open: async function* () {
          yield Buffer.alloc(10)
          throw new RangeError('not a tar')
        },
      }
    })
    await expect(scanner().scan(broken, never)).rejects.toThrow(RangeError)
  })

  test('a scan whose caller has left is stopped', async () => {
    const stop = new AbortController()
    const endless = subjectOf(async function* () {
      yield {
        name: 'data.tar',
        open: async function* () {
          for (;;) {
            yield Buffer.alloc(1000)
            stop.abort(new Error('gone'))
          }
        },
      }
    })
    await expect(scanner().scan(endless, stop.signal)).rejects.toThrow('gone')
  })
})

describe.skipIf(!hasClamd)('limits of clamd', () => {
  async function withClamd<T>(
    config: Parameters<typeof startClamd>[0],
    work: (clamd: TestClamd) => Promise<T>,
  ): Promise<T> {
    const clamd = await startClamd(config)
    try {
      return await work(clamd)
    } finally {
      await clamd.close()
    }
  }
  const scan = (clamd: TestClamd, subject: ScanSubject) =>
    createClamd({ address: clamd.address, clock: systemClock }).scan(subject, never)

  test('over StreamMaxLength: not clean, while it is still being sent', () =>
    withClamd({ StreamMaxLength: '2M' }, async clamd => {
      expect(await scan(clamd, streams({ name: 'data.tar', chunks: zeros(200) }))).toEqual({
        kind: 'unscannable',
        where: 'data.tar',
        why: 'it is larger than the StreamMaxLength of clamd',
      })
    }))

  test('over MaxFileSize, with AlertExceedsMax: not clean', () =>
    withClamd({ MaxFileSize: '3M' }, async clamd => {
      expect(await scan(clamd, streams({ name: 'data.tar', chunks: zeros(4) }))).toMatchObject({
        kind: 'unscannable',
        why: 'it exceeds the MaxFileSize of clamd, so the rest was not scanned',
      })
    }))

  test('a clamd that does not report its limits is not trusted with large streams', () =>
    withClamd({ MaxFileSize: '25M', AlertExceedsMax: 'no' }, async clamd => {
      expect(
        await scan(clamd, streams({ name: 'data.tar', chunks: [...zeros(26), Buffer.from(EICAR)] })),
      ).toMatchObject({ kind: 'unscannable', why: expect.stringContaining('AlertExceedsMax') as string })
      expect(await scan(clamd, streams({ name: 'data.tar', chunks: zeros(10) }))).toEqual({ kind: 'clean' })
    }))

  test('malware in one part is reported although another part exceeds a limit', () =>
    withClamd({ MaxFileSize: '3M' }, async clamd => {
      expect(
        await scan(
          clamd,
          streams({ name: 'control.tar', chunks: zeros(4) }, { name: 'data.tar', chunks: [Buffer.from(EICAR)] }),
        ),
      ).toMatchObject({ kind: 'infected', where: 'data.tar' })
    }))
})

describe('a clamd that does not answer is unavailable, never clean', () => {
  let folder: string
  let server: Server | undefined
  const open = new Set<Socket>()
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fake-clamd-'))
  })
  afterEach(async () => {
    for (const socket of open) socket.destroy()
    open.clear()
    await new Promise<void>(resolve => (server === undefined ? resolve() : server.close(() => resolve())))
    server = undefined
    await rm(folder, { recursive: true, force: true })
  })

  /** A server that does what a clamd should not. */
  async function fake(behave: (socket: Socket) => void) {
    const socket = join(folder, 'sock')
    server = createServer(client => {
      open.add(client)
      client.on('error', () => undefined)
      behave(client)
    })
    await new Promise<void>(resolve => server?.listen(socket, resolve))
    return createClamd({ address: { socket }, clock: systemClock, deadlines: DEADLINES })
  }
  const small = () => streams({ name: 'data.tar', chunks: [Buffer.alloc(1000)] })
  const large = () => streams({ name: 'data.tar', chunks: zeros(50) })

  test('because none is configured', async () => {
    const engine = createClamd({ address: undefined, clock: systemClock })
    await expect(engine.scan(small(), never)).rejects.toThrow(EngineUnavailable)
    expect(await engine.status()).toMatchObject({ ok: false, error: expect.stringContaining('CLAMD_SOCKET') as string })
  })

  test.each([
    ['a socket that is not there', { socket: '/nonexistent/clamd.sock' }],
    ['a port where nobody listens', { host: '127.0.0.1', port: 1 }],
  ])('because of %s', async (_, address) => {
    const engine = createClamd({ address, clock: systemClock })
    await expect(engine.scan(small(), never)).rejects.toThrow(EngineUnavailable)
    expect(await engine.status()).toMatchObject({ ok: false })
  })

  test.each<[string, (socket: Socket) => void]>([
    ['it hangs', () => undefined],
    ['it hangs and reads on', socket => socket.resume()],
    ['it closes at once', socket => socket.destroy()],
    ['it closes in the middle of what we send', socket => socket.once('data', () => socket.destroy())],
    [
      'it closes after everything was sent',
      socket =>
        socket.on('data', data => {
          if (data.subarray(-4).equals(Buffer.alloc(4))) socket.end()
        }),
    ],
    ['it breaks off its answer', socket => socket.once('data', () => socket.end('stream: O'))],
    ['it leaves out the end of its answer', socket => socket.once('data', () => socket.end('stream: OK'))],
    ['it says OK before it has everything', socket => socket.once('data', () => socket.write('stream: OK\0'))],
    ['it talks without end', socket => socket.once('data', () => socket.write('stream: '.repeat(10_000)))],
    ['it says something else', socket => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n\0'))],
    ['it says nothing and ends', socket => socket.once('data', () => socket.end('\0'))],
  ])('because %s', async (_, behave) => {
    const engine = await fake(behave)
    await expect(engine.scan(large(), never)).rejects.toThrow(EngineUnavailable)
  })

  test('an answer in two pieces is one answer', async () => {
    const engine = await fake(socket =>
      socket.on('data', data => {
        if (!data.subarray(-4).equals(Buffer.alloc(4))) return
        socket.write('stre')
        setImmediate(() => socket.end('am: OK\0'))
      }),
    )
    expect(await engine.scan(streams({ name: 'data.tar', chunks: [Buffer.alloc(1000, 1)] }), never)).toEqual({
      kind: 'clean',
    })
  })

  test('because it answers PING and never ends its scan', async () => {
    let pings = 0
    const socket = join(folder, 'sock')
    await fake(client =>
      client.on('data', (bytes: Buffer) => {
        if (bytes.toString('latin1') !== 'zPING\0') return
        pings += 1
        client.end('PONG\0')
      }),
    )
    const deadlines = { connectMs: 5_000, idleMs: 100, pingMs: 30_000, mostMs: 350 }
    const engine = createClamd({ address: { socket }, clock: systemClock, deadlines })
    await expect(engine.scan(small(), never)).rejects.toThrow(EngineUnavailable)
    expect(pings).toBe(3)
  })

  test('because it answers something else to PING', async () => {
    const engine = await fake(client =>
      client.on('data', (bytes: Buffer) => {
        if (bytes.toString('latin1') === 'zPING\0') client.end('stream: OK\0')
      }),
    )
    await expect(engine.scan(small(), never)).rejects.toThrow('it answered "stream: OK" to PING')
  })

  test.skipIf(!hasClamd)(
    'but a real one that scans for long is waited for, and one that dies meanwhile is not',
    async () => {
      const clamd = await startClamd({ MaxThreads: '1' })
      try {
        // 12 bytes of gzip for each of its megabytes: long to scan, and nothing to send
        const slow = () => streams({ name: 'data.tar', chunks: [gzipSync(Buffer.alloc(500e6))] })
        const deadlines = { connectMs: 30_000, idleMs: 20, pingMs: 60_000, mostMs: 600_000 }
        const patient = createClamd({ address: clamd.address, clock: systemClock, deadlines })
        const hasty = createClamd({
          address: clamd.address,
          clock: systemClock,
          deadlines: { ...deadlines, mostMs: 40 },
        })
        await expect(hasty.scan(slow(), never)).rejects.toThrow('it did not answer within 0.04 s')
        expect(await Promise.all([patient.scan(slow(), never), patient.scan(slow(), never)])).toEqual([
          { kind: 'clean' },
          { kind: 'clean' },
        ])
        const dying = expect(patient.scan(slow(), never)).rejects.toThrow(EngineUnavailable)
        clamd.pause()
        await clamd.close()
        await dying
      } finally {
        await clamd.close()
      }
    },
  )

  test.skipIf(!hasClamd)('because the real one is suspended', async () => {
    const clamd = await startClamd()
    try {
      clamd.pause()
      const engine = createClamd({
        address: clamd.address,
        clock: systemClock,
        deadlines: DEADLINES,
      })
      await expect(engine.scan(small(), never)).rejects.toThrow(EngineUnavailable)
      clamd.resume()
      expect(await engine.scan(small(), never)).toEqual({ kind: 'clean' })
    } finally {
      await clamd.close()
    }
  })
})
