import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { relationsOf } from '../../server/formats/apk/index-relations.ts'
import type { Candidate } from '../../server/imports/resolve/closure.ts'
import { apkProgram } from './apk.ts'
import { apkEntry } from './closure-cases-apk.ts'
import { tar } from './packages.ts'
import { run } from './tools.ts'

/** A package as `APK_CASES` writes it, as the catalogue gives it to resolution. */
export function apkCandidate(text: string, at: number, sourceKey = 's'): Candidate {
  const fields = new Map(
    apkEntry(text)
      .split('\n')
      .map(line => [line.charAt(0), line.slice(2)]),
  )
  const [name = '', version = ''] = [fields.get('P'), fields.get('V')]
  const relations = relationsOf(fields)
  return { id: `${sourceKey}-${at}`, name, version, arch: 'x86_64', size: 1000, sourceKey, relations }
}

/**
 * What apk would install on an empty machine that knows these packages alone: `name version`, sorted; undefined where
 * it refuses. @param folder is made
 */
export async function askApk(folder: string, packages: readonly string[], root: string): Promise<string[] | undefined> {
  await mkdir(join(folder, 'x86_64'), { recursive: true })
  const index = packages.map(text => `${apkEntry(text)}\n\n`).join('')
  const archive = gzipSync(tar([{ name: 'APKINDEX', body: Buffer.from(index) }]))
  await writeFile(join(folder, 'x86_64/APKINDEX.tar.gz'), archive)
  const options = ['--root', join(folder, 'root'), '--arch', 'x86_64', '--no-cache', '--allow-untrusted', '-X', folder]
  const apk = (...words: readonly string[]): ReturnType<typeof run> => run(apkProgram ?? 'apk', [...options, ...words])
  const made = await apk('--initdb', '--no-network', 'add')
  if (made.code !== 0) throw new Error(`apk could not make a root: ${made.err}${made.out}`)
  const { code, out } = await apk('--simulate', 'add', root)
  if (code !== 0) return undefined
  return [...out.matchAll(/Installing (\S+) \((\S+)\)/g)]
    .map(([, name = '', version = '']) => `${name} ${version}`)
    .sort()
}
