"""Test sentences, written for this recipe. make_text.py keeps them out of the training text."""

SENTENCES = """
The little bakery on the corner opens before sunrise.
Please remember to water the tomatoes while we are away.
My brother plays the trumpet in a marching band.
A thick fog rolled over the harbor this morning.
Can you tell me which platform the train leaves from?
She painted the kitchen a bright shade of yellow.
We watched the fireworks from the roof of the hotel.
The museum is free for students on Wednesday evenings.
His new bicycle has a basket and a silver bell.
Nobody noticed that the clock had stopped.
The soup tastes better when you add a little lemon.
Our neighbors adopted a three legged cat last winter.
It takes about twenty minutes to walk to the library.
The children built a castle out of cardboard boxes.
I would rather read a book than watch television.
The pilot spoke calmly as the plane began to shake.
Every window in the old factory was broken.
You should never swim alone in the ocean.
The teacher wrote the answer on the board.
Her grandmother taught her how to bake bread.
Do you want to go hiking with us on Saturday?
The river was so clear that we could see the bottom.
He forgot his umbrella and came home soaking wet.
There are seven apples left in the bowl.
The computer needs to be restarted after the update.
A small voice called out from behind the curtain.
The farmer sold his horses and bought a tractor.
Tomorrow will be sunny with a gentle breeze.
They laughed until their stomachs hurt.
The bridge was closed because of heavy snow.
Turn left at the second traffic light.
What time does the concert start tonight?
The doctor told him to rest for a week.
Fresh coffee and warm toast were waiting on the table.
The dog chased the squirrel around the garden.
She wrote a long letter to her best friend.
This machine can speak without an internet connection.
The lights went out just before dinner was served.
I have never seen such a beautiful sunset.
The shop sells candles, soap and woolen scarves.
He drove slowly along the narrow mountain road.
Someone left a suitcase in the waiting room.
The king asked the stranger to tell his story.
We planted an oak tree when my sister was born.
Good morning, how can I help you today?
The movie was much longer than I expected.
Thank you for calling, please hold the line.
An owl was sitting on the fence in the moonlight.
The team practiced every day and finally won the game.
Please speak a little louder so everyone can hear.
The water in the lake is too cold for swimming.
Her office is on the fourth floor next to the elevator.
He opened the box and found a golden watch.
The wind blew the leaves across the empty street.
Most people prefer to travel in the spring.
The baby fell asleep in the back of the car.
I bought a pair of green shoes at the market.
The captain ordered the sailors to lower the sails.
Scientists discovered a new kind of frog in the forest.
Let me know when you are ready to leave.
""".strip().split("\n")

SHORT = """
Hello world.
Good evening.
Thank you very much.
Welcome back.
See you tomorrow.
Not today.
Open the door.
Happy birthday!
Where is he?
Of course.
Well done.
Come here, please.
Seven o'clock.
Never mind.
Good luck.
Strawberry jam.
Yesterday morning.
Turn around.
What happened?
Absolutely.
""".strip().split("\n")

# In training the teacher's own normalizer reads such text, so the evaluation compares with the teacher's reading.
FIGURES = """
It costs $9.99.
On March 3rd, 2024, we moved to Paris.
The train leaves at 7:30 pm.
Dr. Smith lives at 42 Baker St.
About 45% of the people agreed.
NASA and the FBI met in 1999.
The city has 1,250,000 people.
It is 3.5 km to the lake.
Mr. Jones paid $1,200 for 12 chairs.
The US and the UK signed it on 10/12/2019.
Call me at 5 pm.
Chapter 21.
She was born in 1985.
The 4th of July.
WARNING: the door is open!
""".strip().split("\n")

LONG = """
When the old captain finally reached the harbor after three long days at sea, he found that the little town had \
already gone to sleep and nobody was waiting.
She opened the heavy wooden door, walked slowly across the cold kitchen floor, and discovered that someone had left \
a basket of fresh apples beside the silver lamp.
Although the weather report had promised sunshine for the whole weekend, the children spent most of Saturday \
watching the rain run down the windows of the quiet house.
Our teacher explained that the river begins high in the mountains, crosses two countries, and finally meets the \
ocean near a city that is famous for its bridges.
""".strip().split("\n")
