import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'
import { api } from '../server/api.ts'

const ROOT = join(import.meta.dirname, '..')
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8')
const names = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/*.md', { cwd: ROOT })]
const documents = new Map(names.map(name => [name, read(name)]))

/** What a reader may be sent to: everything but what is installed, built, cached or kept by a service. */
const paths = globSync('**/*', { cwd: ROOT, exclude: ['node_modules', 'var', 'dist', 'ui/dist', '.cache', '.git'] })
const known = new Set([...paths, ...globSync('.ci/*', { cwd: ROOT }), '.ci'])
const baseNames = new Set([...known].map(path => basename(path)))

/** Names that stand for any such file. */
const EXAMPLES = ['.ts', 'kebab-case.ts', 'x.test.ts', 'x.db.test.ts', 'x.tool.test.ts']
const FOLDER = /^(?:server|ui|scripts|test|docs|\.ci)\//
const SOURCE = /\.(?:ts|mts|mjs|svelte|css|md)$/

const proseOf = (text: string): string => text.replace(/^```.*?^```/gms, '')
const spansOf = (text: string): readonly string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span)

/** As GitHub and others make them: https://github.com/gjtorikian/html-pipeline, "toc filter". */
const anchorsOf = (text: string): readonly string[] =>
  [...proseOf(text).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )

// a path from the root, a pattern of such, or the bare name of a file that is somewhere below
function isThere(path: string): boolean {
  if (path.includes('*')) return globSync(path, { cwd: ROOT }).length > 0
  return path.includes('/') ? known.has(path.replace(/\/$/, '')) : baseNames.has(path)
}

test('every path that the documentation names is there', () => {
  const named = [...documents].flatMap(([document, text]) =>
    spansOf(proseOf(text))
      .flatMap(span => span.split(/\s+/))
      .filter(word => FOLDER.test(word) || (SOURCE.test(word) && !word.startsWith('dist/') && !EXAMPLES.includes(word)))
      .map(path => ({ document, path })),
  )
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ path }) => !isThere(path))).toEqual([])
})

test('every link of the documentation leads to a file, and to a title in it', () => {
  const links = [...documents].flatMap(([document, text]) =>
    [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(([, file = '', title]) => ({
      document,
      to: file === '' ? document : relative(ROOT, join(ROOT, dirname(document), file)),
      title,
    })),
  )
  expect(links.length).toBeGreaterThan(20)
  expect(
    links.filter(
      ({ to, title }) => !known.has(to) || (title !== undefined && !anchorsOf(documents.get(to) ?? '').includes(title)),
    ),
  ).toEqual([])
})

test('every route that README and operations name is there, with the address at which it answers', () => {
  const plain = (path: string): string => path.replace(/<\w+>|\{\w+\}/g, '{}').replace(/(.)\/$/, '$1')
  const routes = new Set(
    Object.entries(api).map(([key, row]) => {
      const [method = '', path = ''] = key.split(' ')
      return `${method} ${plain('root' in row ? path : `/api/v1${path}`)}`
    }),
  )
  const named = ['README.md', 'docs/operations.md'].flatMap(name =>
    [...(documents.get(name) ?? '').matchAll(/`([A-Z]+) (\/[^`\s?]+)(?:\?[^`]*)?`/g)].map(
      ([, method = '', path = '']) => `${method} ${plain(path)}`,
    ),
  )
  expect(named.length).toBeGreaterThan(15)
  expect(named.filter(route => !routes.has(route))).toEqual([])
})

test('the README links to every other document', () => {
  expect(names.filter(name => name !== 'README.md' && !documents.get('README.md')?.includes(`](${name})`))).toEqual([])
})

test('the README is read in one sitting', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(170)
})

test('every command of package.json is named, and none that is not there', () => {
  const { scripts } = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  const all = [...documents.values()].join('\n')
  const named = new Set([...all.matchAll(/(?:^|`)npm (?:run )?([a-z][a-z:-]*)/gm)].map(([, name = '']) => name))
  // npm's own
  const own = ['install', 'publish', 'unpublish', 'dist-tag', 'deprecate', 'search', 'audit', 'login']
  expect([...named].filter(name => scripts[name] === undefined && !own.includes(name))).toEqual([])
  expect(Object.keys(scripts).filter(name => !named.has(name) && name !== 'vitest')).toEqual([])
})

test('every file that a comment names is there', () => {
  const sources = [...known].filter(path => /^(?:server|ui|scripts|test)\/.*\.(?:ts|svelte)$/.test(path))
  const named = sources.flatMap(source =>
    [...read(source).matchAll(/^\s*(?:\*|\/\/|\/\*\*).*/gm)]
      .flatMap(([comment]) => spansOf(comment))
      .filter(span => /^[\w./-]+\.(?:ts|svelte|md)$/.test(span) && !/^(?:NAME|\.\/a)\./.test(span))
      .map(path => ({ source, path })),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ path }) => ![...known].some(one => one === path || one.endsWith(`/${path}`)))).toEqual([])
})
