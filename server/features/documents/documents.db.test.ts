import { createHash } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { spoolBytes } from '../../../test/support/packages.ts'
import { repositories } from '../../../test/support/repositories.ts'
import { createStock, type Stock } from '../../../test/support/test-catalog.ts'
import type { Codename } from '../../core/identity.ts'
import { createHold } from '../../db/distribution-lock.ts'
import { createDocumentFiles, type DocumentFiles } from '../../files/documents.ts'
import { getFormat } from '../../formats/index.ts'
import { createSecretBox } from '../../lib/secret-box.ts'
import { createKeyedLock } from '../../lib/keyed-lock.ts'
import { createVerifier, type Verified } from '../../publish/audit-trees.ts'
import { readDocuments } from '../../publish/documents.ts'
import { createPublisher, type Publisher } from '../../publish/publisher.ts'
import { createKeyring } from '../../signing/keyring.ts'
import { createDocumentCheck } from './check.ts'
import { copyDocuments, putDocument, removeDocument, type DocumentDeps } from './documents.ts'
import { restoreDocuments } from './restore.ts'

const JAMMY = 'jammy' as Codename
const NOBLE = 'noble' as Codename
const BY = { by: 'ada', ip: '192.0.2.1' }
const ENGLISH = { codename: JAMMY, kind: 'translation', key: { component: 'main', name: 'en' }, ...BY }
/** In which a translation is served. */
const FORMS = ['', '.gz', '.xz']
const STRAY = 'e'.repeat(64)

let stock: Stock
let publisher: Publisher
let files: DocumentFiles
let deps: DocumentDeps
let verifier: () => Promise<Verified>
let logged: unknown[]
beforeEach(async () => {
  stock = await createStock()
  const { db, layout, clock, audit, outbox, manifests } = stock
  const keyring = createKeyring({ layout, box: createSecretBox('k'), clock })
  await keyring.generate({ type: 'ed25519Legacy', name: 'T', email: 't@example.test', overlapDays: 1 })
  files = createDocumentFiles(layout)
  publisher = createPublisher({ db, layout, keyring, clock, formats: getFormat, repositories, documents: files })
  deps = {
    db,
    audit,
    outbox,
    clock,
    repositories,
    formats: getFormat,
    files,
    check: createDocumentCheck(),
    hold: createHold(repositories),
    lock: createKeyedLock(),
  }
  verifier = createVerifier({ db, layout, manifests, keyring, formats: getFormat, repositories })
  logged = []
})
afterEach(async () => {
  await publisher.close()
  await stock.close()
})

/** A translation in `language` of one package. */
function textOf(name: string, language = 'en'): string {
  const md5 = createHash('md5').update(`About ${name}\n`).digest('hex')
  return `Package: ${name}\nDescription-md5: ${md5}\nDescription-${language}: About ${name}\n\n`
}
let uploads = 0
const put = (wish: typeof ENGLISH, text: string): Promise<unknown> =>
  putDocument(deps, wish, () => spoolBytes(stock.layout.incoming, `document${uploads++}`, Buffer.from(text)))

/** Delivers what is owed to the files of a distribution and to its tree. */
async function deliver(codename: Codename): Promise<void> {
  await files.settle(codename, await readDocuments(stock.db, codename))
  await publisher.publishContents(codename)
  await stock.outbox.drain()
  await stock.db.query(`delete from outbox`)
}

async function restore(): Promise<void> {
  const log = { error: (...line: unknown[]) => logged.push(line), info: () => undefined }
  await restoreDocuments({ ...deps, repositories, log: log as never })
}

const folder = (): string => join(stock.layout.documents, JAMMY)
const CARD = 'translation,main,,en.json'

describe('verify', () => {
  beforeEach(async () => {
    await put(ENGLISH, textOf('hello'))
    await deliver(JAMMY)
    expect(await verifier()).toMatchObject({ checked: { documents: 1 }, differences: [], notes: [] })
  })
  const differences = async (): Promise<readonly string[]> =>
    (await verifier()).differences.map(({ what, where, why }) => `${what}: ${where}: ${why}`)

  test('names a document whose file is missing, whose bytes are missing, and whose bytes differ', async () => {
    const [{ sha256 = '' } = {}] = await readDocuments(stock.db, JAMMY)
    await rm(join(folder(), CARD))
    expect(await differences()).toEqual([
      'document: jammy: translation main en: the database knows it, and its file is not there',
    ])
    await deliver(JAMMY)
    await writeFile(join(folder(), sha256), 'torn')
    expect(await differences()).toEqual([
      expect.stringMatching(/^document: jammy: translation main en: its bytes have SHA-256 [0-9a-f]{64}$/),
    ])
    await rm(join(folder(), sha256))
    expect(await differences()).toEqual(['document: jammy: translation main en: its bytes are missing'])
  })

  test('names files that are not in the database, that differ from it, and that cannot be read', async () => {
    const [row] = await readDocuments(stock.db, JAMMY)
    const write = (file: string, value: object): Promise<void> =>
      writeFile(join(folder(), file), JSON.stringify({ schema: 1, ...row, ...value }))
    await write('translation,main,,de.json', { name: 'de' })
    await write(CARD, { by: 'mallory' })
    await write('translation,main,,fr.json', { name: 'it' })
    await write('translation,main,,nl.json', { name: 'nl', schema: 2 })
    await writeFile(join(folder(), 'translation,main,,pl.json'), '{"schema": 1, "kin')
    await writeFile(join(folder(), STRAY), 'bytes of nothing')
    expect((await differences()).toSorted()).toEqual([
      'document: documents/jammy/translation,main,,fr.json: it cannot be read: it says that it is jammy/translation,main,,it.json',
      'document: documents/jammy/translation,main,,nl.json: it cannot be read: it is not a document of schema 1',
      expect.stringMatching(/^document: documents\/jammy\/translation,main,,pl\.json: it cannot be read: .*JSON/),
      'document: jammy: translation main de: it is on disk, and the database does not know it',
      'document: jammy: translation main en: its file says by mallory, the database ada',
    ])
    expect((await verifier()).notes).toEqual([
      {
        what: 'stray file',
        where: `documents/jammy/${STRAY}`,
        why: 'no document has these bytes; the next start removes them',
      },
    ])
  })

  test('names a document of a codename that no distribution has', async () => {
    await stock.db.query(`update document set codename = 'gone'`)
    expect(await differences()).toContain('document: gone: translation main en: no distribution has this codename')
  })

  test('names documents that are missing, different or superfluous in the live tree', async () => {
    await stock.outbox.stop()
    await put(ENGLISH, textOf('other'))
    await files.settle(JAMMY, await readDocuments(stock.db, JAMMY))
    expect(await verifier()).toMatchObject({
      differences: [],
      notes: FORMS.map(form => ({
        why: `main/i18n/Translation-en${form} of the live tree has other content; a publication is about to follow`,
      })),
    })
    await stock.db.query(`delete from outbox`)
    expect(await differences()).toEqual(
      FORMS.map(
        form =>
          `document: jammy: translation main en: main/i18n/Translation-en${form} of the live tree has other content`,
      ),
    )
    await stock.db.query(`update document set name = 'de'`)
    await files.settle(JAMMY, await readDocuments(stock.db, JAMMY))
    expect(await differences()).toEqual([
      ...FORMS.map(
        form => `document: jammy: translation main de: the live tree has no main/i18n/Translation-de${form}`,
      ),
      ...FORMS.map(
        form =>
          `document: jammy: main/i18n/Translation-en${form}: the live tree has it, and the database has no document for it`,
      ),
    ])
  })
})

describe('a start', () => {
  test('restores every document that the database lost, and names those that it cannot read', async () => {
    await put(ENGLISH, textOf('hello'))
    await put({ ...ENGLISH, key: { component: 'main', name: 'de' } }, textOf('hallo', 'de'))
    await deliver(JAMMY)
    const before = await readDocuments(stock.db)
    await stock.db.query(`delete from document where name = 'de'`)
    await writeFile(join(folder(), 'translation,main,,fr.json'), 'torn')
    await restore()
    expect(await readDocuments(stock.db)).toEqual(before)
    await stock.db.query('delete from document')
    await restore()
    expect(await readDocuments(stock.db)).toEqual(before)
    expect(logged).toMatchObject([
      [{ path: 'documents/jammy/translation,main,,fr.json' }, expect.stringContaining('cannot be read')],
      [{ path: 'documents/jammy/translation,main,,fr.json' }, expect.stringContaining('cannot be read')],
    ])
  })

  test('does not bring back a document that was removed and whose file is still owed', async () => {
    await put(ENGLISH, textOf('hello'))
    await deliver(JAMMY)
    await stock.outbox.stop()
    await removeDocument(deps, ENGLISH)
    await restore()
    expect(await readDocuments(stock.db)).toEqual([])
  })

  test('removes a file whose writing a kill stopped, which is no difference meanwhile', async () => {
    await put(ENGLISH, textOf('hello'))
    await deliver(JAMMY)
    const unfinished = `.${STRAY}.0123456789ab.tmp`
    await writeFile(join(folder(), unfinished), 'Package: h')
    expect(await verifier()).toMatchObject({
      differences: [],
      notes: [{ what: 'stray file', where: `documents/jammy/${unfinished}` }],
    })
    await restore()
    expect(await readdir(folder())).toHaveLength(2)
    expect(await verifier()).toMatchObject({ differences: [], notes: [] })
    expect(logged).toEqual([])
  })

  test('removes bytes that a stopped upload left, and leaves those of a distribution that is not there', async () => {
    await put(ENGLISH, textOf('hello'))
    await deliver(JAMMY)
    await files.keep(JAMMY, STRAY, Buffer.from('half'))
    await files.keep('gone' as Codename, STRAY, Buffer.from('of nobody'))
    await restore()
    expect(await readdir(folder())).not.toContain(STRAY)
    expect(await readdir(join(stock.layout.documents, 'gone'))).toEqual([STRAY])
    expect(logged).toMatchObject([[{ codename: 'gone' }, expect.stringContaining('of no distribution')]])
  })
})

describe('two at once', () => {
  test('of two uploads of the same document at once one wins, with its bytes and its file', async () => {
    await Promise.all(['one', 'two', 'three', 'one'].map(name => put(ENGLISH, textOf(name))))
    await deliver(JAMMY)
    expect(await readDocuments(stock.db)).toHaveLength(1)
    expect(await readdir(folder())).toHaveLength(2)
    expect(await verifier()).toMatchObject({ differences: [], notes: [] })
  })

  test('a copy made while its source changes has either the old or the new document', async () => {
    for (let round = 0; round < 5; round++) {
      await put(ENGLISH, textOf(`before${round}`))
      await Promise.all([
        copyDocuments(deps, { codename: NOBLE, from: JAMMY, ...BY }),
        put(ENGLISH, textOf(`after${round}`)).then(() =>
          deps.lock.run(JAMMY, async () => files.settle(JAMMY, await readDocuments(stock.db, JAMMY))),
        ),
      ])
    }
    await deliver(JAMMY)
    await deliver(NOBLE)
    expect(await verifier()).toMatchObject({ checked: { documents: 2 }, differences: [], notes: [] })
  })
})
