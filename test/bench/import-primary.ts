import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { createDb } from '../../server/db/db.ts'
import { startEmbedded } from '../../server/db/embedded.ts'
import { migrate } from '../../server/db/migrate.ts'
import { addSource, startSync } from '../support/catalogue.ts'
import { rpmElement } from '../support/index-trees.ts'

const PACKAGES = 68_800
const KERNELS = 1_100
const SYMBOLS = 7_000
const BUDGET_MB = 400

const HEAD =
  '<?xml version="1.0" encoding="UTF-8"?>\n<metadata xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm">\n'

/** What a large vendor's repository lists: kernels with thousands of symbols among packages of all sizes. */
function* elements(): Generator<string> {
  yield HEAD
  const every = Math.floor(PACKAGES / KERNELS)
  for (let n = 0; n < PACKAGES; n++) {
    const isKernel = n % every === 0 && n / every < KERNELS
    const provides = isKernel
      ? Array.from(
          { length: SYMBOLS },
          (_, s) => `ksym(a_symbol_of_the_kernel_${s}) = 0x${(n * SYMBOLS + s).toString(16)}`,
        )
      : Array.from({ length: n % 20 }, (_, s) => `lib${n}-${s}.so.1()(64bit)`)
    yield rpmElement({
      name: isKernel ? 'kernel-core' : `package-${n % 9_000}`,
      version: `${n}.1`,
      provides,
      requires: Array.from({ length: n % 30 }, (_, r) => `lib${(n * 7 + r) % PACKAGES}-${r}.so.1()(64bit)`),
      files: Array.from({ length: n % 5 }, (_, f) => `/usr/bin/tool-${n}-${f}`),
    })
  }
  yield '</metadata>\n'
}

/** A stream that passes on what it digests. */
function digesting() {
  const hash = createHash('sha256')
  let size = 0
  const through = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk)
      size += chunk.length
      done(null, chunk)
    },
  })
  return { through, result: () => ({ sha256: hash.digest('hex'), size }) }
}

/** Writes the index and gives its root. */
async function writeIndex(path: string): Promise<{ readonly root: Buffer; readonly plainMb: number }> {
  const [plain, packed] = [digesting(), digesting()]
  await pipeline(
    Readable.from(elements()),
    plain.through,
    createGzip({ level: 1 }),
    packed.through,
    createWriteStream(path),
  )
  const [open, file] = [plain.result(), packed.result()]
  const root = `<?xml version="1.0" encoding="UTF-8"?>\n<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>1700000000</revision>
<data type="primary"><checksum type="sha256">${file.sha256}</checksum><open-checksum type="sha256">${open.sha256}</open-checksum>
<location href="repodata/primary.xml.gz"/><size>${file.size}</size><open-size>${open.size}</open-size></data></repomd>`
  return { root: Buffer.from(root), plainMb: open.size / 1e6 }
}

/** `npm run bench import-primary`: false where reading it takes more memory than the budget. */
export async function run(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-primary-'))
  const cluster = await startEmbedded({ folder: join(folder, 'data'), durable: false })
  const db = createDb(cluster)
  try {
    await migrate(db)
    const path = join(folder, 'primary.xml.gz')
    const { root, plainMb } = await writeIndex(path)
    const before = process.resourceUsage().maxRSS / 1024
    const source = await addSource(db, 'large', { format: 'rpm' })
    const sync = await startSync(db, () => async asked => {
      if (asked === 'repodata/repomd.xml') return Readable.from([root])
      return asked === 'repodata/primary.xml.gz' ? createReadStream(path, { highWaterMark: 2 ** 18 }) : undefined
    })
    const start = performance.now()
    const result = await sync.run(source, { signal: new AbortController().signal })
    const seconds = (performance.now() - start) / 1000
    await sync.close()
    const peak = process.resourceUsage().maxRSS / 1024
    const rows = await db.first<{ n: number; size: string }>(
      `select count(*)::int as n, pg_size_pretty(pg_total_relation_size('import_package') + pg_total_relation_size('import_capability')) as size
      from import_capability`,
    )
    console.log(
      `primary.xml of ${Math.round(plainMb)} MB (${Math.round((await stat(path)).size / 1e6)} MB packed): ${result.state}, ${result.packages} packages, ${rows?.n} other names, ${rows?.size} in the database, ${seconds.toFixed(1)} s`,
    )
    console.log(
      `most memory: ${Math.round(peak)} MB (${Math.round(before)} MB before) of ${BUDGET_MB} MB ${result.said ?? ''}`,
    )
    return result.state === 'ok' && peak <= BUDGET_MB
  } finally {
    await db.close()
    await cluster.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
