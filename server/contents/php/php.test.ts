import { describe, expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { phpReaders } from './readers.ts'

const read = (path: string, text: string) => findings(phpReaders, path, text)
const names = (path: string, text: string) => purls(phpReaders, path, text)
const json = JSON.stringify
const MONOLOG = {
  type: 'composer',
  namespace: 'monolog',
  name: 'monolog',
  version: '1.0.0',
  presence: 'shipped',
  rule: 'composer-installed',
  confidence: 'certain',
  needs: ['srv/app/vendor/monolog/monolog'],
}

describe('installed.json', () => {
  const path = 'srv/app/vendor/composer/installed.json'
  const one = { name: 'monolog/monolog', version: 'v1.0.0', type: 'library' }
  test('of Composer 1 is a list; a library lies below vendor, a plugin somewhere', async () => {
    const plugin = { name: 'wp/plugin', version: '2.0', type: 'wordpress-plugin' }
    expect(await read(path, json([one, plugin]))).toEqual([
      MONOLOG,
      { ...MONOLOG, namespace: 'wp', name: 'plugin', version: '2.0', needs: undefined },
    ])
  })
  test('of Composer 2 is an object that says where; a metapackage has no code', async () => {
    const packages = [
      { ...one, 'install-path': '../monolog/monolog' },
      { 'name': 'a/meta', 'version': '1.0', 'type': 'metapackage', 'install-path': null },
    ]
    expect(await read(path, json({ packages, dev: true }))).toEqual([MONOLOG])
  })
  test('a branch is listed and not asked about', async () => {
    expect(
      await names(
        path,
        json([
          { name: 'a/b', version: 'dev-main' },
          { name: 'a/c', version: '1.x-dev' },
        ]),
      ),
    ).toEqual([
      'pkg:composer/a/b@dev-main shipped certain: It comes from an address and names no release.',
      'pkg:composer/a/c@1.x-dev shipped certain: It comes from an address and names no release.',
    ])
  })
  test('names are lower case in a package URL', async () => {
    expect(await names(path, json([{ name: 'Foo/Bar', version: '1.0' }]))).toEqual([
      'pkg:composer/foo/bar@1.0 shipped certain',
    ])
  })
})

test('installed.php, without running it', async () => {
  const text = `<?php return array(
    'root' => array(
        'name' => 'my/app',
        'pretty_version' => '9.0.0',
        'install_path' => __DIR__ . '/../../',
    ),
    'versions' => array(
        'monolog/monolog' => array(
            'pretty_version' => 'v1.0.0',
            'version' => '1.0.0.0',
            'type' => 'library',
            'install_path' => __DIR__ . '/../monolog/monolog',
            'dev_requirement' => false,
        ),
        'psr/log-implementation' => array(
            'dev_requirement' => false,
            'provided' => array(
                0 => '1.0.0',
            ),
        ),
    ),
);
`
  expect(await read('srv/app/vendor/composer/installed.php', text)).toEqual([MONOLOG])
})

test('composer.lock, but not that of an installed package', async () => {
  const text = json({
    'packages': [{ name: 'monolog/monolog', version: '1.0.0' }],
    'packages-dev': [{ name: 'phpunit/phpunit', version: '9.0.0' }],
  })
  expect(await names('srv/app/composer.lock', text)).toEqual([
    'pkg:composer/monolog/monolog@1.0.0 declared certain',
    'pkg:composer/phpunit/phpunit@9.0.0 declared certain: It is wanted for development only.',
  ])
  expect(await read('srv/app/vendor/monolog/monolog/composer.lock', text)).toBe('not wanted')
})

test('a damaged list is told', async () => {
  await expect(read('vendor/composer/installed.json', '[{')).rejects.toThrow('it is not JSON')
  expect(await read('vendor/composer/installed.json', '[1, null, {"name": 1}]')).toEqual([])
})
