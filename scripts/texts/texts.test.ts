import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GERMAN, readTexts, ROOT, textsOf } from './catalogue.ts'
import { faultsOf, readEntries } from './entries.ts'

// When this fails: npm run texts, then write the German in ui/locales/de.po.
test('every text of the console has its German, with the same placeholders', async () => {
  const { written } = await readTexts()
  const asInSource = readEntries(written.get(GERMAN) ?? readFileSync(GERMAN, 'utf8'))
  const kept = readEntries(readFileSync(GERMAN, 'utf8'))
  const english = new Set(asInSource.map(entry => entry.english.join('\n')))
  expect(asInSource.length).toBeGreaterThan(2000)
  expect(faultsOf(asInSource)).toEqual([])
  expect(kept.filter(entry => !english.has(entry.english.join('\n'))).map(entry => entry.english)).toEqual([])
})

test('a German that lacks a placeholder, a form or a space is a fault', () => {
  const fault = (english: string[], german: string[]): string[] => faultsOf([{ file: 'a.svelte', english, german }])
  expect([
    fault(['Delete {0}?'], ['{0} löschen?']),
    fault(['Delete {0}?'], ['Löschen?']),
    fault(['About <0>{0}</0> only'], ['Nur <0>{0}']),
    fault([' of {0}'], ['von {0}']),
    fault(['# package', '# packages'], ['# Paket', '# Pakete']),
    fault(['# package', '# packages'], ['# Pakete']),
    fault(['Close'], ['']),
    fault(['Close'], []),
  ]).toEqual([
    [],
    ['a.svelte: “Delete {0}?” has {0}, its German nothing of it.'],
    ['a.svelte: “About <0>{0}</0> only” has </0> <0> {0}, its German <0> {0}.'],
    ['a.svelte: “ of {0}” begins or ends with a space, its German does not.'],
    [],
    ['a.svelte: “# package / # packages” needs 2 forms, one and many.'],
    ['a.svelte: “Close” has no German.'],
    ['a.svelte: “Close” has no German.'],
  ])
})

test('a text is what is rendered; names, routes, classes and what is compared are none', async () => {
  const screen = `<script lang="ts">
    const open = resource(() => call('GET /jobs/{id}'))
    const at = $state('waiting')
    const word = $derived(at === 'Waiting' ? 'is running' : phrase('waits'))
    const rows = [{ id: 'mail', label: 'mail', icon: 'inbox' }]
    const onkey = event => { if (event.key === 'Enter') toast('good', \`\${name} is deleted\`) }
  </script>
  <p class={open ? 'btn sm' : 'btn'} title="what it is">About <b>{name}</b> {n === 1 ? 'is' : 'are'} open</p>
  {#if at === 'Done'}<Field label={open ? 'never' : 'once'} type="Text" />{plural(n, ['# job', '# jobs'])}<code>Run</code>{/if}`
  expect(new Set(await textsOf('a.svelte', screen))).toEqual(
    new Set([
      'is running',
      'waits',
      'mail',
      '{0} is deleted',
      'what it is',
      'is',
      'are',
      'About <0/> {0} open',
      'never',
      'once',
      '# job / # jobs',
    ]),
  )
  const script = `export const ROWS = { a: { word: 'open', tone: 'good' } }
    export function say(n: number): string { if (n > 1) throw new Error('Too many'); return n === 0 ? 'none' : \`\${n} are left\` }
    const headers = { 'Content-Type': 'text/plain', 'Authorization': \`Bearer \${token}\` }`
  expect(await textsOf('a.ts', script)).toEqual(['open', 'Too many', '{0} are left'])
})

// What is compared stays as it was written, what is shown does not: in German the two would never be equal.
test('no text is compared, so no value changes with the language', async () => {
  const files = globSync(['ui/*.ts', 'ui/{parts,screens,shell}/**/*.{ts,svelte}'], { cwd: ROOT })
  const found: string[] = []
  for (const file of files.filter(name => !/\.(test|d)\.ts$|ui\/texts\.ts/.test(name))) {
    const source = readFileSync(join(ROOT, file), 'utf8')
    const compared = [...source.matchAll(/(?:[!=]==? |case )'([^']*)'|(?<!\|)\| '([^']* [^']*)'/g)].map(
      ([, a, b]) => a ?? b ?? '',
    )
    if (!compared.some(said => /^[A-Z]\w*[a-z]| /.test(said))) continue
    const texts = new Set(await textsOf(file, source))
    found.push(...compared.filter(said => /^[A-Z]| /.test(said) && texts.has(said)).map(said => `${file}: ${said}`))
  }
  expect(found).toEqual([])
})
