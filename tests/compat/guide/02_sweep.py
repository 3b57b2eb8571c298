import time

for num_workers in [0, 2, 4, 8]:
    loader = DataLoader(dataset, batch_size=32, num_workers=num_workers)
    
    start = time.time()
    for i, (data, target) in enumerate(loader):
        if i >= 100:
            break
    
    print(f"num_workers={num_workers}: {time.time()-start:.2f}s")
