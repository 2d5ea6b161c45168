import { readFile } from 'node:fs/promises'
import type { SpooledFile } from '../../../files/spool.ts'
import { malformed, printBytes } from '../../../lib/limited.ts'
import type { Inspection } from '../../format.ts'
import { refuse } from '../../refuse.ts'
import type { DebFacts } from '../facts.ts'
import { parseBuildInfo, MAX_BUILDINFO } from './buildinfo.ts'
import { MAX_DSC, parseDsc, type SourcePackage } from './dsc.ts'
import { mustMatch } from './file-list.ts'

const DSC =
  /^(?:-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:Hash: [^\r\n]{1,100}\r?\n)*\r?\n)?Format: (?:3\.0 \((?:quilt|native)\)|1\.0)\r?\nSource: /

/** Whether the first bytes are those of a .dsc. */
export function isDsc(head: Uint8Array): boolean {
  return DSC.test(Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1'))
}

/** Whether a file is kept with a source package without being part of it: no index names it. */
export function isRecord(name: string): boolean {
  return name.endsWith('.buildinfo')
}

async function readWhole({ path, blob }: SpooledFile, what: string, limitBytes: number): Promise<Buffer> {
  if (blob.size > limitBytes) malformed(`${what} is larger than ${printBytes(limitBytes)}`)
  return readFile(path)
}

/** Checks that the files are exactly those that the .dsc names, with the same bytes. @throws Malformed */
async function mustBeWhole(source: SourcePackage, beside: readonly SpooledFile[]): Promise<void> {
  for (const named of source.files) {
    const file = beside.find(({ filename }) => filename === named.name)
    if (file === undefined)
      return malformed(`the .dsc names the file ${named.name}, which did not come with it: send the whole .changes`)
    mustMatch(named, file.blob)
  }
  for (const file of beside) {
    if (source.files.some(({ name }) => name === file.filename)) continue
    if (!isRecord(file.filename)) malformed(`the file ${file.filename} came with it, and the .dsc does not name it`)
    const info = parseBuildInfo(await readWhole(file, 'the .buildinfo', MAX_BUILDINFO))
    if (info.source !== source.identity.name)
      malformed(`the file ${file.filename} tells of a build of ${info.source}, and this is ${source.identity.name}`)
  }
}

async function look(file: SpooledFile): Promise<Inspection<DebFacts>> {
  const bytes = await readWhole(file, 'the .dsc', MAX_DSC)
  const source = parseDsc(bytes)
  const { identity, about, control, document, files } = source
  await mustBeWhole(source, file.beside ?? [])
  return {
    kind: 'source',
    identity,
    about,
    facts: { control, parts: files.map(({ name }) => name) },
    paths: [],
    ...(document === undefined ? {} : { clearsigned: { document, text: source.text } }),
  }
}

/**
 * Inspects a source package: its .dsc, and the files it names, compared with their digests.
 * @throws bad_package naming the file and the rule
 */
export async function inspectSource(file: SpooledFile, signal: AbortSignal): Promise<Inspection<DebFacts>> {
  signal.throwIfAborted()
  try {
    return await look(file)
  } catch (error) {
    return refuse(file.filename, error)
  }
}
