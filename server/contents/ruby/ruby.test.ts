import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { rubyReaders } from './readers.ts'

const read = (path: string, text: string) => findings(rubyReaders, path, text)
const names = (path: string, text: string) => purls(rubyReaders, path, text)
const RACK = '  s.name = "rack".freeze\n  s.version = "2.2.3"\n'
const SPEC = `# -*- encoding: utf-8 -*-\n# stub: wrong 9.9 ruby lib\n\nGem::Specification.new do |s|\n${RACK}  s.add_dependency("x".freeze)\nend\n`

describe('a gemspec', () => {
  test.each([
    'var/lib/gems/3.1.0/specifications/rack-2.2.3.gemspec',
    'usr/lib/ruby/gems/3.1.0/specifications/default/rack-2.2.3.gemspec',
    'usr/share/rubygems-integration/all/specifications/rack-2.2.3.gemspec',
    'opt/app/vendor/bundle/ruby/3.1.0/bundler/gems/rack-0123456/rack.gemspec',
    'opt/jruby.jar!/META-INF/jruby.home/lib/ruby/gems/shared/specifications/rack-2.2.3.gemspec',
  ])('%s is installed', async path => {
    expect(await read(path, SPEC)).toEqual([
      { type: 'gem', name: 'rack', version: '2.2.3', presence: 'shipped', rule: 'gemspec', confidence: 'certain' },
    ])
  })
  test.each(['usr/lib/ruby/gems/3.1.0/gems/rack-2.2.3/rack.gemspec', 'srv/app/app.gemspec'])(
    '%s is source text',
    async path => {
      expect(await read(path, SPEC)).toBe('not wanted')
    },
  )
  test.each([
    ['  s.name = %q{rack}\n  s.version = "1.0"\n', ['pkg:gem/rack@1.0 shipped certain']],
    [
      "  spec.name='rack'\n  spec.version=Gem::Version.new('1.0.0.pre.rc1')\n",
      ['pkg:gem/rack@1.0.0.pre.rc1 shipped certain'],
    ],
    [`${RACK}  s.platform = "x86_64-linux".freeze\n`, ['pkg:gem/rack@2.2.3?platform=x86_64-linux shipped certain']],
    [
      '# stub: rack 2.2.3 java lib\n s.name = "rack"\n s.version = Rack::RELEASE\n',
      ['pkg:gem/rack@2.2.3?platform=java shipped certain'],
    ],
    ['  s.name = "rack"\n  s.version = `id`\n', []],
    ['  s.name = "a b"\n  s.version = "1"\n', []],
  ])('%j', async (text, expected) => {
    expect(await names('specifications/x.gemspec', text)).toEqual(expected)
  })
})

test('a .gem that was not unpacked', async () => {
  const path = 'opt/rack-2.2.3.gem!/metadata.gz'
  const text =
    '--- !ruby/object:Gem::Specification\nname: rack\nversion: !ruby/object:Gem::Version\n  version: 2.2.3\nplatform: ruby\nauthors:\n- x\ndependencies:\n- !ruby/object:Gem::Dependency\n  name: no\n  version: 1\n'
  expect(await purls(rubyReaders, path, gzipSync(text))).toEqual(['pkg:gem/rack@2.2.3 shipped certain'])
  await expect(read(path, text)).rejects.toThrow('it is damaged, or unpacks to more than 4 MiB')
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20))
  await expect(findings(rubyReaders, path, bomb)).rejects.toThrow('it is damaged, or unpacks to more than 4 MiB')
})

test('Gemfile.lock: what was chosen, with its platform; branches and the project by their sections', async () => {
  const text = [
    'GIT',
    '  remote: https://host/fork.git',
    '  specs:',
    '    fork (1.0)',
    'PATH',
    '  remote: .',
    '  specs:',
    '    app (0.1.0)',
    '      rack (~> 2.2)',
    'GEM',
    '  remote: https://rubygems.org/',
    '  specs:',
    '    rack (2.2.3)',
    '      racc (~> 1.4)',
    '    nokogiri (1.15.0-x86_64-linux)',
    '    rails (7.0.0.rc1)',
    '',
    'PLATFORMS',
    '  ruby',
    'DEPENDENCIES',
    '    no (1.0)',
    'BUNDLED WITH',
    '   2.3.7',
  ].join('\n')
  const expected = [
    'pkg:gem/fork@1.0 declared probable',
    'pkg:gem/app@0.1.0 declared certain: It is a part of the project itself.',
    'pkg:gem/rack@2.2.3 declared certain',
    'pkg:gem/nokogiri@1.15.0?platform=x86_64-linux declared certain',
    'pkg:gem/rails@7.0.0.rc1 declared certain',
  ]
  expect(await names('srv/app/Gemfile.lock', text)).toEqual(expected)
  expect(await names('gems.locked', text.replaceAll('\n', '\r\n'))).toEqual(expected)
  expect(await read('var/lib/gems/3.1.0/gems/rack-2.2.3/Gemfile.lock', text)).toBe('not wanted')
})

test('hostile text is read in time', async () => {
  for (const line of [`    a (${'1-'.repeat(990)}`, `${' '.repeat(1990)}s.name`, `    ${'('.repeat(1990)}`]) {
    const text = `GEM\n${`${line}\n`.repeat(8000)}`
    expect(await names('Gemfile.lock', text)).toEqual([])
    expect(await names('specifications/a.gemspec', text.slice(0, 2 ** 20))).toEqual([])
  }
}, 10_000)

test.each([
  ['opt/app/vendor/bundle/ruby/3.1.0/gems/rack-2.2.3/lib/rack.rb', ['pkg:gem/rack@2.2.3 shipped probable']],
  ['opt/app/gems/ruby-prof-1.4.3/lib/ruby-prof.rb', ['pkg:gem/ruby-prof@1.4.3 shipped probable']],
  ['gems/rails-7.0.0.rc1/lib/rails.rb', ['pkg:gem/rails@7.0.0.rc1 shipped probable']],
  [
    'opt/gems/nokogiri-1.15.0-x86_64-linux/lib/nokogiri.rb',
    ['pkg:gem/nokogiri@1.15.0?platform=x86_64-linux shipped probable'],
  ],
])('a copied gem is named by its folder: %s', async (path, expected) => expect(await names(path, '')).toEqual(expected))

test.each([
  'opt/app/vendor/bundle/ruby/3.1.0/bundler/gems/rack-0123456/lib/rack.rb',
  'opt/gems/rack-2.2.3/lib/rack/utils.rb',
  'opt/gems/rack-2.2.3/test/rack.rb',
  'opt/gems/rack/lib/rack.rb',
  'opt/mygems/rack-2.2.3/lib/rack.rb',
])('%s names no gem', async path => {
  expect(await read(path, '')).toBe('not wanted')
})
