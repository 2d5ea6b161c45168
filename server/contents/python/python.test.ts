import { describe, expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { pythonReaders } from './readers.ts'

const read = (path: string, text: string) => findings(pythonReaders, path, text)
const names = (path: string, text: string) => purls(pythonReaders, path, text)
const SITE = 'usr/lib/python3/dist-packages/'
const METADATA = 'Metadata-Version: 2.1\r\nName: requests\r\nVersion: 2.19.0\r\n\r\nName: not-this\r\nVersion: 1\r\n'
const REQUESTS = { type: 'pypi', name: 'requests', version: '2.19.0', confidence: 'certain' } as const

describe('dist-info', () => {
  test('METADATA is shipped where its code is; its headers alone count', async () => {
    expect(await read(`${SITE}requests-2.19.0.dist-info/METADATA`, METADATA)).toEqual([
      {
        ...REQUESTS,
        presence: 'shipped',
        rule: 'python-metadata',
        needs: [`${SITE}requests`, `${SITE}requests.py`, `${SITE}requests.so`],
      },
    ])
  })
  test.each([
    ['Zope.Interface', `${SITE}zope/interface`],
    ['typing_extensions', `${SITE}typing_extensions.py`],
    ['PyYAML', `${SITE}yaml`],
    ['Pillow', `${SITE}PIL`],
    ['python-dateutil', `${SITE}dateutil`],
    ['importlib-metadata', `${SITE}importlib_metadata`],
    ['Jinja2', `${SITE}jinja2`],
  ])('%s may have its code at %s', async (name, place) => {
    const found = await read(`${SITE}x-1.dist-info/METADATA`, `Metadata-Version: 2.1\nName: ${name}\nVersion: 1\n`)
    expect(found).toMatchObject([{ name, needs: expect.arrayContaining([place]) as unknown }])
  })
  test('RECORD and top_level.txt say where the code is, for the row of METADATA', async () => {
    const row = {
      ...REQUESTS,
      presence: 'shipped',
      rule: 'python-metadata',
      path: 'v/requests-2.19.0.dist-info/METADATA',
    }
    const record = [
      '../bin/tool,sha256=x,1',
      '../../../outside,sha256=x,1',
      '__pycache__/a.pyc,,',
      'requests-2.19.0.dist-info/METADATA,sha256=x,1',
      '"re""q,s/a.py",sha256=x,1',
      'requests/b.py,sha256=x,1',
    ].join('\n')
    expect(await read('v/requests-2.19.0.dist-info/RECORD', record)).toEqual([
      { ...row, needs: ['bin/tool', 'v/re"q,s/a.py', 'v/requests/b.py'] },
    ])
    expect(await read('v/requests-2.19.0.dist-info/top_level.txt', 'requests\n_x\n')).toEqual([
      { ...row, needs: ['v/requests', 'v/requests.py', 'v/requests.so', 'v/_x', 'v/_x.py', 'v/_x.so'] },
    ])
    expect(await read('v/requests-2.19.0.dist-info/RECORD', 'requests-2.19.0.dist-info/WHEEL,,\n')).toEqual([])
  })
  test('in a wheel, and not in a folder that pip was removing', async () => {
    expect(await names('opt/requests.whl!/requests-2.19.0.dist-info/METADATA', METADATA)).toEqual([
      'pkg:pypi/requests@2.19.0 shipped certain',
    ])
    expect(await read(`${SITE}~equests-2.19.0.dist-info/METADATA`, METADATA)).toBe('not wanted')
  })
  test.each([
    'Name: a\nVersion: 1\n',
    'Metadata-Version: 2\nName: a\n',
    'Metadata-Version: 2\nName: a\n\nVersion: 1\n',
    'Metadata-Version: 2\nName: a b\nVersion: 1\n',
  ])('%j names nothing', async text => {
    expect(await read('a-1.dist-info/METADATA', text)).toEqual([])
  })
})

describe('PKG-INFO', () => {
  test.each([
    [`${SITE}requests-2.19.0.egg-info`, 'shipped'],
    [`${SITE}requests-2.19.0.egg-info/PKG-INFO`, 'shipped'],
    [`${SITE}requests.egg-info/PKG-INFO`, 'shipped'],
    ['opt/app/lib/requests-2.19.0-py3.11.egg-info/PKG-INFO', 'shipped'],
    ['opt/app/requests-2.19.0-py3.11.egg!/EGG-INFO/PKG-INFO', 'shipped'],
    ['opt/app/requests-2.19.0-py3.11.egg/EGG-INFO/PKG-INFO', 'shipped'],
    ['opt/requests-2.19.0.tar.gz!/requests-2.19.0/PKG-INFO', 'shipped'],
    ['usr/src/requests/requests.egg-info/PKG-INFO', 'declared'],
  ] as const)('%s is %s', async (path, presence) => {
    expect(await read(path, METADATA)).toEqual([{ ...REQUESTS, presence, rule: 'python-package-info' }])
  })
})

test('vendor.txt is what pip carries, where the folder of each is there', async () => {
  const text =
    'CacheControl==0.12.11  # Make sure to update\nrequests==2.28.2\n    urllib3==1.26.14\nsix==1.16.0\nfree\n'
  const found = await read('usr/lib/python3/dist-packages/pip/_vendor/vendor.txt', text)
  expect(found).toMatchObject([
    { name: 'CacheControl', needs: expect.arrayContaining([`${SITE}pip/_vendor/cachecontrol`]) as unknown },
    { name: 'requests', version: '2.28.2', presence: 'shipped', rule: 'python-vendor' },
    { name: 'urllib3', version: '1.26.14' },
    { name: 'six', needs: expect.arrayContaining([`${SITE}pip/_vendor/six.py`]) as unknown },
  ])
})

test('what setuptools installed is no wheel, and has not the libraries of one', async () => {
  const pillow = 'Metadata-Version: 2.1\nName: Pillow\nVersion: 9.4.0\n'
  expect(await read('usr/lib/python3/dist-packages/Pillow-9.4.0.egg-info/PKG-INFO', pillow)).toMatchObject([
    { name: 'Pillow', version: '9.4.0', cleared: { ids: expect.arrayContaining(['PYSEC-2023-175']) as unknown } },
  ])
  expect(await read('opt/a/requests-2.19.0.egg-info', METADATA)).toEqual([
    { ...REQUESTS, presence: 'shipped', rule: 'python-package-info' },
  ])
})

test('pkg_resources alone, as in pip, is not setuptools', async () => {
  expect(await read('opt/pip/_vendor/vendor.txt', 'setuptools==44.0.0\n')).toMatchObject([
    { name: 'setuptools', needs: ['', '.py', '.so'].map(end => `opt/pip/_vendor/setuptools${end}`) },
  ])
})

describe('what is wanted', () => {
  test.each([
    'srv/requirements.txt',
    'requirements-prod.txt',
    'dev-requirements.txt',
    'requirements/base.txt',
    'constraints.txt',
  ])('%s: what is pinned, with markers, hashes and extras', async path => {
    const text = [
      'requests==2.19.0',
      'Flask [async] == 1.0 ; python_version > "3"',
      'a>=1',
      'b',
      '# c==1',
      '-r x.txt',
      'd==1.*',
      'e==1.0 --hash=sha256:aa',
      'f==2.0 \\',
      'g @ https://x',
      'h==1.0,<2',
      'i===3.0 # why',
      '-e git+https://x#egg=j==1',
    ].join('\n')
    expect(await names(path, text)).toEqual([
      'pkg:pypi/requests@2.19.0 declared certain',
      'pkg:pypi/flask@1.0 declared certain',
      'pkg:pypi/e@1.0 declared certain',
      'pkg:pypi/f@2.0 declared certain',
      'pkg:pypi/i@3.0 declared certain',
    ])
  })
  test('Pipfile.lock', async () => {
    const text = JSON.stringify({
      _meta: {},
      default: { requests: { version: '==2.19.0' }, local: { path: '.' }, range: { version: '>=1' } },
      develop: { six: { version: '==1.15.0' } },
    })
    expect(await names('Pipfile.lock', text)).toEqual([
      'pkg:pypi/requests@2.19.0 declared certain',
      'pkg:pypi/six@1.15.0 declared certain: It is wanted for development only.',
    ])
  })
  test.each([
    [
      'poetry.lock',
      'package',
      '[package.source]\ntype = "git"',
      '[package.source]\ntype = "directory"',
      'category = "dev"',
    ],
    [
      'poetry.lock',
      'package',
      '[package.source]\ntype = "git"',
      '[package.source]\ntype = "directory"',
      'groups = ["dev"]',
    ],
    ['uv.lock', 'package', 'source = { git = "x" }', 'source = { virtual = "." }', 'groups = ["dev"]'],
    ['uv.lock', 'package', 'source = { git = "x" }', 'source = { editable = "." }', 'groups = ["dev"]'],
    ['pdm.lock', 'package', 'git = "x"', 'editable = true', 'groups = ["dev"]'],
    ['pylock.toml', 'packages', 'source = { git = "x" }', 'directory = { path = "." }', 'groups = ["dev"]'],
  ])('%s: %s, %s, %s, %s', async (path, name, fork, own, dev) => {
    const table = (project: string, more: string): string =>
      `[[${name}]]\nname = "${project}"\nversion = "1.0"\n${more}\n\n`
    const text = `version = 1\n${table('a', '')}${table('fork', fork)}${table('own', own)}${table('dev', dev)}`
    expect(await names(`opt/app/${path}`, text)).toEqual([
      'pkg:pypi/a@1.0 declared certain',
      'pkg:pypi/fork@1.0 declared probable',
      'pkg:pypi/dev@1.0 declared certain: It is wanted for development only.',
    ])
  })
})

describe('conda', () => {
  const numpy = {
    name: 'numpy',
    version: '1.21.0',
    build: 'py39_0',
    channel: 'https://conda.anaconda.org/conda-forge/linux-64',
    subdir: 'linux-64',
  }
  test('what is installed, where one of its files is', async () => {
    const files = ['lib/python3.9/site-packages/numpy/__init__.py']
    expect(await read('opt/conda/conda-meta/numpy-1.21.0-py39_0.json', JSON.stringify({ ...numpy, files }))).toEqual([
      {
        type: 'conda',
        name: 'numpy',
        version: '1.21.0',
        qualifiers: { build: 'py39_0', channel: 'conda-forge', subdir: 'linux-64' },
        presence: 'shipped',
        rule: 'conda-meta',
        confidence: 'certain',
        needs: ['opt/conda/lib/python3.9/site-packages/numpy/__init__.py'],
      },
    ])
  })
  test.each(['opt/numpy.conda!/info-numpy.tar.zst!/info/index.json', 'opt/numpy.tar.bz2!/info/index.json'])(
    '%s',
    async path => {
      expect(await names(path, JSON.stringify({ ...numpy, channel: undefined }))).toEqual([
        'pkg:conda/numpy@1.21.0?build=py39_0&subdir=linux-64 shipped certain',
      ])
    },
  )
  test('the history of conda names nothing', async () => {
    expect(await read('opt/conda/conda-meta/pinned.json', '{}')).toEqual([])
  })
})

test.each([
  ['opt/v/Pillow.libs/libpng16-1d1ba958.so.16.58.0', ['pkg:generic/libpng16']],
  ['opt/v/numpy.libs/libopenblas64_p-r0-15028c96.3.21.so', ['pkg:generic/libopenblas64_p-r0']],
])('%s is listed without a version', async (path, expected) => {
  expect(await names(path, '')).toEqual(
    expected.map(
      purl => `${purl} shipped probable: Its file name has the number of its interface, not of its release.`,
    ),
  )
})

test('hostile text is read in time', async () => {
  for (const line of [`a${' '.repeat(1990)}==1`, `a[${'['.repeat(1990)}`, `"${'""'.repeat(990)}`, 'a-'.repeat(990)]) {
    const text = `${line}\n`.repeat(8000)
    expect(await names('requirements.txt', text)).toHaveLength(line.endsWith('==1') ? 8000 : 0)
    expect(await names('a-1.dist-info/METADATA', text)).toEqual([])
    expect(await names('a-1.dist-info/RECORD', text)).toEqual([])
  }
}, 10_000)
