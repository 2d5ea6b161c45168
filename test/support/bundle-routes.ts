/** What each writing route of bundles is asked by people who may not see a distribution. */
export function bundleWrites(
  hidden: string,
): Readonly<Record<string, readonly { path: string; body?: object; raw?: string }[]>> {
  return {
    'POST /bundles': [
      { path: '/bundles', body: { site: 'nowhere' } },
      { path: '/bundles', body: { site: 'north', distributions: [hidden] } },
      { path: '/bundles', body: { site: 'north', distributions: ['jammy', hidden] } },
    ],
    'POST /bundles/{id}/copy': [{ path: '/bundles/1/copy', body: { directory: '/media/stick' } }],
    'DELETE /bundles/{id}': [{ path: '/bundles/1' }],
    'POST /bundles/sites': [{ path: '/bundles/sites', body: { name: 'north' } }],
    'POST /bundles/receipts': [{ path: '/bundles/receipts', raw: hidden }],
    'POST /bundles/receipts/read': [{ path: '/bundles/receipts/read', body: { path: '/srv/some.receipt.tar' } }],
    'POST /bundles/uploads': [{ path: '/bundles/uploads', body: { file_name: '../some', size: 1 } }],
    'PUT /bundles/uploads/{id}': [{ path: '/bundles/uploads/0badcafe?offset=0', raw: 'x' }],
    'DELETE /bundles/uploads/{id}': [{ path: '/bundles/uploads/0badcafe' }],
    'POST /bundles/inspect': [{ path: '/bundles/inspect', body: { path: '/srv/some.bundle.tar' } }],
    'POST /bundles/import': [
      { path: '/bundles/import', body: { upload: '0badcafe' } },
      { path: '/bundles/import', body: { upload: '0badcafe', path: '/srv/some.bundle.tar' } },
    ],
  }
}
