import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GERMAN, readTexts, SERVER_GERMAN } from './texts/catalogue.ts'
import { faultsOf, readEntries } from './texts/entries.ts'

/**
 * `npm run texts`: brings the catalogue of German up to date with the texts of the source, and names those that lack
 * their German.
 */
const { written } = await readTexts()
const faults: string[] = []
for (const file of [GERMAN, SERVER_GERMAN]) {
  const catalogue = written.get(file) ?? (await readFile(file, 'utf8'))
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, catalogue)
  faults.push(...faultsOf(readEntries(catalogue)))
}
for (const fault of faults) process.stdout.write(`${fault}\n`)
process.exitCode = faults.length === 0 ? 0 : 1
