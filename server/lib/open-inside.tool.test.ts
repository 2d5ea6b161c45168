import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openInside } from './open-inside.ts'

let root: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gh-inside-')))
  mkdirSync(join(root, 'tree/folder'), { recursive: true })
  writeFileSync(join(root, 'tree/folder/file'), 'inside')
  writeFileSync(join(root, 'secret'), 'outside')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a plain file is opened', () => {
  const open = openInside(join(root, 'tree'), 'folder/file')
  expect(open).toMatchObject({ size: 6 })
  if (typeof open !== 'string') closeSync(open.fd)
})

test('what is no plain file of the tree is told apart', () => {
  const tree = join(root, 'tree')
  symlinkSync(join(root, 'secret'), join(tree, 'link'))
  symlinkSync('folder', join(tree, 'inner'))
  symlinkSync(root, join(tree, 'out'))
  spawnSync('mkfifo', [join(tree, 'fifo')])
  const paths = [
    'nothing',
    'folder/file/below',
    'link',
    'inner/file',
    'out/secret',
    '../secret',
    'folder',
    'fifo',
    '/dev/null',
  ]
  expect(Object.fromEntries(paths.map(path => [path, openInside(tree, path)]))).toEqual({
    'nothing': 'missing',
    'folder/file/below': 'missing',
    'link': 'link',
    'inner/file': 'link',
    'out/secret': 'link',
    '../secret': 'outside',
    'folder': 'special',
    'fifo': 'special',
    '/dev/null': 'missing',
  })
})
